"""What the tests of several integrations share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def local_trackers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trackers of experiments write to the test's folder, and report to nobody."""
    settings = {
        "MLFLOW_TRACKING_URI": (tmp_path / "mlruns").as_uri(), "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "WANDB_MODE": "offline",
        "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false", "WANDB_DIR": str(tmp_path),
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
