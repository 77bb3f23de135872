"""Texts of the pages and scripts are in every catalogue, and a person gets the language that they chose."""

from __future__ import annotations

import ast
import json
import re
from contextvars import copy_context
from html.parser import HTMLParser
from pathlib import Path
from uuid import uuid4

import pytest
from jinja2.ext import babel_extract
from tests.judge.web import Browser, add_person, make_project

from sounding.core.errors import SoundingError, UnknownNameError
from sounding.judge import language
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.exports import Omitted, omission_note
from sounding.judge.language import ENGLISH, FOLDER, LANGUAGES, Forms, Language, choose
from sounding.judge.live import NOTHING_LEFT
from sounding.judge.organizer_pages import FEEDS
from sounding.judge.organizing import change_settings
from sounding.judge.prospects import overlap_note, too_few_note
from sounding.judge.records import Seen
from sounding.judge.settings import MTC
from sounding.judge.templates import TEMPLATES, for_scripts
from sounding.plan.forecast import JudgingForecast
from sounding.plan.sentences import forecast_note
from sounding.relevance.basis import Basis
from sounding.selection.strategies import STRATEGIES
from sounding.statistics.cases import MEANING

OTHERS = [code for code in LANGUAGES if code != "en"]
SCRIPTS = sorted((FOLDER / "static").glob("*.js"))
PAGES = sorted((FOLDER / "pages").glob("*.html"))
# Pages and scripts whose texts are not in the catalogues yet.
PENDING: set[str] = set()
_JS_TEXT = r'"((?:[^"\\]|\\.)*)"'
_JS_CALL = re.compile(rf"\b(gettext|elements|ngettext)\(\s*(?:{_JS_TEXT}(?:,\s*{_JS_TEXT})?)?")
_PLACE = re.compile(r"\{(\w+)\}")


def places(text: str) -> set[str]:
    return set(_PLACE.findall(text))


def key_of(text: str) -> str:
    return re.sub(r"%\((\w+)\)s", r"{\1}", text).replace("%%", "%")


def in_pages() -> dict[str, str]:
    """Text -> its other form; empty if it has none."""
    found = {}
    for page in PAGES:
        with page.open("rb") as file:
            for _, call, texts, _ in babel_extract(
                file,
                ("gettext", "ngettext", "_"),
                [],
                {
                    "newstyle_gettext": "true",
                    "trimmed": "true",
                    "extensions": "",
                    "trim_blocks": "true",
                    "lstrip_blocks": "true",
                },
            ):
                given = [one for one in ([texts] if isinstance(texts, str) else texts or ()) if one]
                if given:
                    found[key_of(given[0])] = key_of(given[1]) if call == "ngettext" else ""
    return found


def in_scripts() -> dict[str, str]:
    found = {}
    for script in SCRIPTS:
        for call, one, other in _JS_CALL.findall(script.read_text(encoding="utf-8")):
            if one:
                found[json.loads(f'"{one}"')] = json.loads(f'"{other}"') if call == "ngettext" else ""
    return found


def in_python() -> dict[str, str]:
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            texts = [
                one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            if node.func.id in ("gettext", "marked") and texts:
                found[texts[0]] = ""
            elif node.func.id == "ngettext" and len(texts) == 2:
                found[texts[0]] = texts[1]
    return found


def in_data() -> dict[str, str]:
    """Texts of other parts of the program that pages show."""
    found = [kind.what for kind in EXPORT_KINDS.values()] + list(FEEDS.values())
    found += [kind.title for name, kind in STRATEGIES.items() if name != MTC]
    return dict.fromkeys(found, "")


def texts() -> dict[str, str]:
    return in_pages() | in_scripts() | in_python() | in_data()


def forms(text: Forms) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


@pytest.mark.parametrize("code", OTHERS)
def test_a_catalogue_has_every_text_with_the_same_places_and_no_other(code: str) -> None:
    used, known = texts(), LANGUAGES[code].texts
    missing = sorted(set(used) - set(known))
    assert not missing, f"languages/{code}.json lacks:\n" + "\n".join(
        json.dumps(one, ensure_ascii=False) for one in missing
    )
    unused = sorted(set(known) - set(used))
    assert not unused, f"nobody uses these texts of languages/{code}.json: {unused}"
    for one, other in used.items():
        assert isinstance(known[one], dict) == bool(other), f"{one!r} has forms by number in one of them only"
        for form in forms(known[one]):
            assert places(form) <= places(one) | places(other) | ({"n"} if other else set()), (one, form)
            if not other:
                assert places(form) == places(one), (one, form)
            assert form.strip() == form


class _Untranslated(HTMLParser):
    """Collects the words of a page that are not in the catalogue: those left once all texts are cut out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("kbd", "pre", "code")
        for name, value in attrs:
            if name in ("aria-label", "placeholder", "title", "alt", "data-confirm"):
                self.handle_data(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("kbd", "pre", "code")

    def handle_data(self, data: str) -> None:
        if not self._silent and re.search(r"[^\W\d_]{2,}", data):
            self.found.append(data.strip())


@pytest.mark.parametrize("page", [one for one in PAGES if one.name not in PENDING], ids=lambda one: one.name)
def test_no_text_of_a_page_stands_outside_the_catalogue(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    source = re.sub(
        r"{% trans\b.*?{% endtrans %}|{% block kind %}\w+{% endblock %}", "", source, flags=re.DOTALL
    )
    spoken = re.sub(r'\b(?:_|ngettext)\("(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")?', "", source)
    for expression in re.findall(r"{[{%](.*?)[%}]}", spoken, flags=re.DOTALL):
        said = [
            one
            for one in re.findall(r'"([^"]*)"', expression)
            if re.search(r"[A-Za-z]+ [A-Za-z]+|^[A-Z]", one)
        ]
        assert not said, f"{page.name}: {said} are not in a text"
    parser = _Untranslated()
    parser.feed(re.sub(r"{%.*?%}|{{.*?}}", "", source, flags=re.DOTALL))
    assert not parser.found, f"{page.name}: {parser.found} are not in a text"


@pytest.mark.parametrize(
    "script", [one for one in SCRIPTS if one.name not in PENDING], ids=lambda one: one.name
)
def test_no_text_of_a_script_stands_outside_the_catalogue(script: Path) -> None:
    source = re.sub(r"^\s*//.*$|\s// .*$", "", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for call, one, _ in _JS_CALL.findall(source):
        assert one or script.name == "words.js", f"{script.name}: {call} gets something else than a text"
    rest = _JS_CALL.sub("", source)
    said = [
        text
        for quoted in re.findall(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', rest)
        for text in quoted
        if re.search(r"^[A-Z][a-z]+ [a-z]|[a-z]{2,} (?:the|is|are|of|to|in|a) |^[A-Z][a-z]+[ .:]", text)
    ]
    assert not said, f"{script.name}: {said} are not in a text"


def test_no_refusal_stands_outside_the_catalogue() -> None:
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = (
                getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            )
            if isinstance(node, ast.Call) and name == "RefusedError":
                said = node.args[1]
                assert not isinstance(said, ast.Constant), f"{path.name}: {ast.unparse(said)} is not marked"


@pytest.mark.parametrize(
    ("chosen", "project", "accepted", "wanted"),
    [
        ("", "browser", "", "en"),
        ("", "browser", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "browser", "fr, en;q=0.5, de;q=0.7", "de"),
        ("", "browser", "fr-CA", "en"),
        ("", "browser", "de;q=0, en", "en"),
        ("", "browser", "de;q=x, " * 3000, "en"),
        ("", "de", "en", "de"),
        ("en", "de", "de", "en"),
        ("de", "browser", "en", "de"),
        ("xx", "browser", "de", "de"),
        ("../../etc", "en", "de", "en"),
    ],
)
def test_the_persons_choice_wins_then_the_project_then_the_browser(
    chosen: str, project: str, accepted: str, wanted: str
) -> None:
    assert choose(chosen, project, accepted).code == wanted


def test_numbers_and_forms_follow_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    german = LANGUAGES["de"]
    assert german.number(1234567) == "1.234.567"
    assert german.percent(0.1234) == "12,3\u202f%"
    assert german.ngettext("{n} version", "{n} versions", 1, {}) == "1 Fassung"
    assert german.ngettext("{n} version", "{n} versions", 0, {}) == "0 Fassungen"
    assert ENGLISH.ngettext("{n} version", "{n} versions", 1161, {}) == "1,161 versions"
    assert ENGLISH.gettext("{doc} of {all}", {"doc": "{all}", "all": 2}) == "{all} of 2"
    forms = {
        "zero": "لا شيء",
        "one": "واحد",
        "two": "اثنان",
        "few": "{n} قليل",
        "many": "{n} كثير",
        "other": "{n}",
    }
    arabic = Language(code="ar", name="العربية", direction="rtl", texts={"{n} left": forms})
    monkeypatch.setitem(
        language.PLURALS, "ar", lambda n: "two" if n == 2 else "few" if 3 <= n <= 10 else "other"
    )
    assert [arabic.ngettext("{n} left", "{n} left", n, {}) for n in (2, 5, 100)] == ["اثنان", "5 قليل", "100"]
    assert arabic.gettext("see {doc}", {"doc": "d1"}) == "see \u2068d1\u2069"


def test_a_text_of_a_page_keeps_hostile_values_harmless() -> None:
    template = TEMPLATES.from_string("{% trans name=name %}Welcome, <bdi>{{ name }}</bdi>{% endtrans %} 100%")
    assert template.render(name="<b>%s{x}") == "Welcome, <bdi>&lt;b&gt;%s{x}</bdi> 100%"
    bad = Language(code="xx", name="xx", texts={"Save": "</script><b>"})
    assert "</script>" not in for_scripts(bad)


def test_a_person_chooses_a_language_that_follows_them(tmp_path: Path) -> None:
    with make_project(tmp_path, documents=6, topics=1) as project:
        add_person(project, "ann", topics=("MB001",))
        add_person(project, "bob", topics=("MB001",))
        ann = Browser(project)
        assert "Sign in" in ann.get("/sign-in").text
        german = ann.get("/sign-in", headers={"Accept-Language": "de-CH, en;q=0.1"}).text
        assert '<html lang="de" dir="ltr">' in german
        assert "Passwort" in german
        ann.sign_in("ann")
        assert ann.post("/language", language="de", then="/account").headers["location"] == "/account"
        assert "Konto" in ann.get("/account").text
        assert "Meine Themen" in ann.get("/").text
        left = ann.get("/api/topics").json()[0]["coming"]["words"]
        assert left == "weitere folgen bei Bedarf"
        refused = ann.post("/language", language="klingon", then="/")
        assert refused.status_code == 400
        assert "Diese Sprache gibt es nicht" in refused.text
        # the choice is the account's: it comes along into another browser, and not to another person
        other = Browser(project)
        other.sign_in("ann")
        assert "Meine Themen" in other.get("/").text
        bob = Browser(project, other.app)
        bob.sign_in("bob")
        assert "My topics" in bob.get("/").text
        change_settings(project, language="de")
        assert "Meine Themen" in bob.get("/").text
        assert bob.post("/language", language="en", then="//evil.example").headers["location"] == "/"
        assert "My topics" in bob.get("/").text
        assert bob.get("/judge?topic=nothing").status_code == 404
        with pytest.raises(UnknownNameError):
            change_settings(project, language="klingon")


def test_an_unknown_page_speaks_the_language_too(tmp_path: Path) -> None:
    with make_project(tmp_path, documents=6, topics=1, language="de") as project:
        guest = Browser(project)
        assert "Unter dieser Adresse gibt es keine Seite" in guest.get("/nothing").text
        wrong = guest.sign_in("nobody", "wrong password")
        assert "Name oder Passwort falsch" in wrong.text
        add_person(project, "olga", "organizer")
        olga = Browser(project)
        olga.sign_in("olga")
        refused = olga.post(
            "/organize/settings", measure="{n}", title="x", feed="first", level="1", overlap="1"
        )
        assert refused.status_code == 400  # what somebody typed is no place of a text
        assert "{n}" in refused.text
        assert guest.client.get("/api/topics").json()["detail"].startswith("Sie sind nicht angemeldet")


def _sentences() -> list[str]:
    """Sentences as other parts of the program write them."""
    bases = [
        Basis(runs=runs, relevant=relevant, nonrelevant=others, unjudged=9, is_upside_down=relevant == others)
        for runs, relevant, others in ((1, 2, 1), (2, 1, 0), (1, 40, 30), (2, 5, 90), (2, 50, 50))
    ]
    short = [basis.shortfall() for basis in bases]
    assert all(short)
    ways = [
        [0],
        [8],
        [8, 8],
        [8, 300],
        [200, 1300, 2100],
        [300, -500],
        [-500],
        [-500, -500, 8],
    ]  # negative: not reached
    forecasts = [
        [
            JudgingForecast(
                judgments=(0, abs(one)), confidence=(0.5, 0.9), reached=one >= 0, all_judged=False
            )
            for one in way
        ]
        for way in ways
    ]
    told = [forecast_note(found, 0.95, seconds) for found in forecasts for seconds in (3, 30)]
    told += [too_few_note(found, 5, 900).strip() for found in forecasts]
    told += [f"There is no forecast: {why}." for why in short] + [overlap_note(3).strip(), NOTHING_LEFT]
    omitted = [
        Omitted(unsettled=2), Omitted(cannot=1), Omitted(nobody=3, certain=2), Omitted(nobody=1, unsettled=2, cannot=3),
    ]  # fmt: skip
    notes = [
        f"{note[0].upper()}{note[1:]}."
        for one in omitted
        for what in ("qrels", "assessors", "prels", "strata")
        if (note := omission_note(what, one))
    ]
    return [*short, *filter(None, told), *MEANING.values(), *notes]


ENGLISH_WORDS = re.compile(r"\b(the|of|to|is|are|judgments|documents|judged|reached|after|more|this|not)\b")


@pytest.mark.parametrize("code", OTHERS)
def test_sentences_of_other_parts_of_the_program_are_told_in_the_language(code: str) -> None:
    for sentence in _sentences():
        told = LANGUAGES[code].retell(sentence)
        assert not ENGLISH_WORDS.search(told), f"{sentence!r} became {told!r}"
        numbers = sorted(re.findall(r"[\d,.]*\d%?", sentence))
        assert sorted(re.findall(r"[\d,.]*\d%?", told)) == numbers
        assert ENGLISH.retell(sentence) == sentence
    for text, form in LANGUAGES[code].retold.items():
        assert places(form) <= places(text), text


@pytest.mark.parametrize("code", OTHERS)
def test_refusals_of_other_parts_of_the_program_are_told_in_the_language(code: str, tmp_path: Path) -> None:
    with make_project(tmp_path, documents=6, topics=1) as project:
        store, settings = project.store, project.settings
        ann = store.add_user("ann", "organizer")

        def seen(judged: bool, grade: float | None) -> None:
            shown = Seen(judged, grade)
            project.engine.judge(ann.pseudonym, "MB001", "d04", 0, key=uuid4().hex, seen=shown)

        project.engine.judge(ann.pseudonym, "MB001", "d04", 1, key="first-key")
        for act in (
            lambda: store.add_user("Ann", "assessor"),
            lambda: store.add_user("assessor-7", "assessor"),
            lambda: store.add_user("x" * 200, "assessor"),
            lambda: store.set_role(ann.id, "assessor"),
            lambda: store.save_topic("MB001", title="x", after=9),
            lambda: settings.check_grade(7),
            lambda: change_settings(project, level=7),
            lambda: change_settings(project, level=0),
            lambda: seen(judged=False, grade=None),
        ):
            with pytest.raises(SoundingError) as refused:
                act()
            told = LANGUAGES[code].retell(str(refused.value))
            assert told != str(refused.value), told
            assert not ENGLISH_WORDS.search(told), told


def test_what_is_kept_for_everybody_is_english_whoever_asked_first() -> None:
    def asked() -> list[str]:
        language.speak(LANGUAGES["de"])
        with language.english():
            kept = language.gettext("Saved.")
        return [kept, language.gettext("Saved.")]

    assert copy_context().run(asked) == ["Saved.", "Gespeichert."]


def test_the_live_state_is_told_in_each_readers_language(tmp_path: Path) -> None:
    with make_project(tmp_path, documents=6, topics=1) as project:
        add_person(project, "olga", "organizer")
        add_person(project, "omar", "organizer")
        olga = Browser(project)
        olga.sign_in("olga")
        olga.post("/language", language="de", then="/")
        german = olga.get("/api/live").json()
        omar = Browser(project, olga.app)
        omar.sign_in("omar")
        english = omar.get("/api/live").json()
        assert english["staffing"] == "Topic MB001 has no assessor. Assign more people."
        assert german["staffing"] == "Thema MB001 ist niemandem zugeteilt. Teilen Sie mehr Personen zu."
        assert english["not_stated"].startswith("this needs at least")
        assert german["not_stated"].startswith("dafür braucht es mindestens")
        assert "Themen" in olga.get("/organize").text
