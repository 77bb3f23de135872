"""Judging replayed from known judgments: how soon which strategy is right."""
