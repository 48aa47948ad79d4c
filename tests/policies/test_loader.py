"""Policies by reference: names, paths, classes of one's own, entry points, and what is said of a bad one."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from policies import ComposedPolicy, load_policy, policy_names
from policies.loader import CATALOGUE, GROUP, METHODS, read_policy, resolved
from simulator.errors import InputError

pytestmark = pytest.mark.unit

Module = Callable[[str, str], str]

SOUND = """
    from simulator.contracts import Policy, Terms
    from simulator.plan import RewritePlan

    class Mine(Policy):
        name = "mine"
        def check(self, gauge):
            return False
        def propose(self, view):
            return RewritePlan()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write a module onto `sys.path` and return its name, which no other test uses."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> str:
        unique = f"{name}_{tmp_path.name.replace('-', '_')}"
        (tmp_path / f"{unique}.py").write_text(textwrap.dedent(text))
        return unique

    return write


def refused(reference: str, **options: object) -> InputError:
    with pytest.raises(InputError) as told:
        load_policy(reference, **options)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)
    return told.value


@pytest.mark.parametrize(
    ("name", "nearest"), [("gaurded", "guarded"), ("nave", "naive"), ("size_cap", "size-cap"), ("qqq", "")]
)
def test_an_unknown_name_is_shown_with_the_nearest(name: str, nearest: str) -> None:
    told = refused(name)
    assert repr(name) in told.what
    assert told.nearest == nearest


@pytest.mark.parametrize("reference", ["", "a\0b"])
def test_what_is_no_name_at_all_is_refused(reference: str) -> None:
    assert refused(reference).expected


def test_a_path_is_a_file_and_its_stem_the_name(tmp_path: Path) -> None:
    file = tmp_path / "of-my-own.toml"
    file.write_text("[trigger]\nfraction = 0.5\n")
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    assert policy.name == "of-my-own"
    assert policy.parts.trigger is not None
    assert policy.parts.trigger.fraction == 0.5


def test_a_path_to_nothing_names_the_nearest_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    told = refused(str(tmp_path / "mien.toml"))
    assert told.where == str(tmp_path / "mien.toml")
    assert told.nearest == "mine.toml"


def test_a_folder_is_no_policy(tmp_path: Path) -> None:
    assert "directory" in refused(f"{tmp_path}/").what


@pytest.mark.parametrize("name", policy_names())
def test_every_name_of_the_catalogue_loads_under_its_own_name(name: str) -> None:
    assert load_policy(name).name == name
    assert load_policy(str(CATALOGUE / f"{name}.toml")).terms == load_policy(name).terms


@pytest.mark.parametrize("name", policy_names())
def test_every_file_of_the_catalogue_says_summary_and_source(name: str) -> None:
    data = read_policy(name).data
    for key in ("summary", "source"):
        text = data.get(key)
        assert isinstance(text, str), key
        assert text.strip() == text != "", key
        assert "\n" not in text, key


def test_no_two_policies_of_the_catalogue_say_the_same() -> None:
    summaries = [read_policy(name).data["summary"] for name in policy_names()]
    assert len(set(summaries)) == len(summaries)


# --------------------------------------------------------------------------- overrides


def test_overrides_are_laid_over_the_file_and_nothing_else() -> None:
    policy = load_policy("guarded", {"selector.limit": 3, "deliberation.cap": 9})
    plain = load_policy("guarded")
    assert isinstance(policy, ComposedPolicy)
    assert isinstance(plain, ComposedPolicy)
    assert policy.parts.selector.limit == 3
    assert policy.terms.rationale_cap == 9
    assert plain.parts.selector.limit == 6
    assert policy.parts.gates
    assert policy.parts.trigger == plain.parts.trigger


def test_an_override_may_make_a_table_that_the_file_does_not_have() -> None:
    assert load_policy("naive", {"counter.ratio": 0.72}).terms.counter.ratio == 0.72


@pytest.mark.parametrize(
    ("path", "value", "nearest"),
    [("selector.limt", 3, "limit"), ("selektor.limit", 3, "selector"), ("selector.limit", "3", "")],
)
def test_a_wrong_override_is_shown_like_a_wrong_file(path: str, value: object, nearest: str) -> None:
    told = refused("guarded", overrides={path: value})
    assert told.nearest == nearest
    assert path.split(".")[-1 if nearest != "selector" else 0] in told.where


@pytest.mark.parametrize("path", ["summary.x", "", ".", "selector..limit"])
def test_an_override_that_leads_nowhere_is_refused(path: str) -> None:
    refused("guarded", overrides={path: 1})


# --------------------------------------------------------------------------- classes


def test_a_class_of_a_module_on_the_path_is_a_policy(module: Module) -> None:
    policy = load_policy(f"{module('sound', SOUND)}:Mine")
    assert policy.name == "mine"
    assert type(policy).__name__ == "Mine"


def test_a_class_can_be_named_in_a_file_and_takes_the_files_name(module: Module, tmp_path: Path) -> None:
    file = tmp_path / "theirs.toml"
    file.write_text(f'class = "{module("sound", SOUND)}:Mine"\n')
    assert load_policy(str(file)).name == "theirs"


def test_an_import_error_is_shown_and_not_swallowed(module: Module) -> None:
    told = refused(f"{module('broken', 'import no_such_library')}:Mine")
    assert "ModuleNotFoundError: No module named 'no_such_library'" in told.what
    assert isinstance(told.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise OSError('x')", "OSError: x"),
    ],
)
def test_whatever_a_module_does_when_imported_is_shown(text: str, told: str, module: Module) -> None:
    assert told in refused(f"{module('fails', text)}:Mine").what


def test_a_module_that_is_not_there_is_shown() -> None:
    assert "No module named 'no_such_module'" in refused("no_such_module:Mine").what


def test_a_class_that_is_not_there_is_shown_with_the_nearest(module: Module) -> None:
    assert refused(f"{module('sound', SOUND)}:Mien").nearest == "Mine"


@pytest.mark.parametrize("reference", [":Mine", "sound:", "a:b:c"])
def test_half_a_reference_is_refused(reference: str) -> None:
    refused(reference)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "class Mine:\n    pass",
            "is not a policy: no begin, check, admit, propose, judge, learn, resume, amend, rely",
        ),
        (
            "class Mine:\n    def __init__(self):\n        raise KeyError('k')",
            "cannot be made: KeyError: 'k'",
        ),
        ("class Mine:\n    def __init__(self, size):\n        pass", "cannot be made: TypeError"),
        ("Mine = 3", "has no class 'Mine'"),
    ],
)
def test_a_class_that_is_no_policy_is_told_what_it_lacks(text: str, told: str, module: Module) -> None:
    assert told in refused(f"{module('poor', text)}:Mine").what


def test_a_class_with_methods_but_without_terms_lacks_terms(module: Module) -> None:
    text = "class Mine:\n" + "\n".join(f"    def {name}(self, x):\n        return None" for name in METHODS)
    assert refused(f"{module('termless', text)}:Mine").what.endswith("no terms")


def test_a_class_takes_no_overrides(module: Module, tmp_path: Path) -> None:
    reference = f"{module('sound', SOUND)}:Mine"
    assert "takes no overrides" in refused(reference, overrides={"a": 1}).what
    (tmp_path / "theirs.toml").write_text(f'class = "{reference}"\n')
    told = refused(str(tmp_path / "theirs.toml"), overrides={"selector.limit": 1})
    assert "no parameter of the class" in told.what


@pytest.mark.parametrize(
    ("beside", "first"),
    [
        ("[selector]\nlimit = 3\n[trigger]\nfraction = 0.9", "selector"),
        ("summary = 'mine'\n[trigger]\nfraction = 0.9\n[guard]", "trigger"),
        ("gates = {}", "gates"),
    ],
)
def test_tables_beside_a_class_are_refused_and_not_ignored(
    beside: str, first: str, module: Module, tmp_path: Path
) -> None:
    file = tmp_path / "theirs.toml"
    file.write_text(f'class = "{module("sound", SOUND)}:Mine"\n{beside}\n')
    told = refused(str(file))
    assert told.where == f"{file}: {first}"
    assert "sound" in told.what
    with pytest.raises(InputError, match=f"{first}: says nothing to the class"):
        resolved(str(file))


def test_a_class_may_say_what_it_is_and_where_it_comes_from(module: Module, tmp_path: Path) -> None:
    file = tmp_path / "theirs.toml"
    reference = f"{module('sound', SOUND)}:Mine"
    file.write_text(f'class = "{reference}"\nsummary = "mine"\nsource = "me"\n')
    assert load_policy(str(file)).name == "theirs"
    assert resolved(str(file)) == {"class": reference, "summary": "mine", "source": "me"}


@pytest.mark.parametrize(
    "text", ["import sys\nsys.exit(3)", "class Mine:\n    def __init__(self):\n        raise SystemExit(3)"]
)
def test_a_module_that_exits_is_shown_and_does_not_end_the_process(text: str, module: Module) -> None:
    assert "SystemExit: 3" in refused(f"{module('leaves', text)}:Mine").what


# --------------------------------------------------------------------------- entry points


@pytest.fixture
def registered(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entry points, as another distribution would register them; one has a name of the catalogue."""
    target = f"{module('sound', SOUND)}:Mine"
    points = metadata.EntryPoints(metadata.EntryPoint(name, target, GROUP) for name in ("theirs", "naive"))
    monkeypatch.setattr(metadata, "entry_points", lambda group: points.select(group=group))


@pytest.mark.usefixtures("registered")
def test_an_entry_point_is_listed_and_loads() -> None:
    assert "theirs" in policy_names()
    assert type(load_policy("theirs")).__name__ == "Mine"


@pytest.mark.usefixtures("registered")
def test_an_entry_point_does_not_shadow_the_catalogue() -> None:
    assert policy_names().count("naive") == 1
    assert isinstance(load_policy("naive"), ComposedPolicy)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("replacement = 'x'", "parameters.replacement: unknown value 'x'"),
        ("keep_requests = -1", "parameters.keep_requests"),
        ("keep_requests = 1.5", "parameters.keep_requests"),
        ("headroom_turns = nan", "parameters.headroom_turns"),
        ("least_progress = 2", "parameters.least_progress"),
        ("overhead_tokens = 'a'", "parameters.overhead_tokens"),
    ],
)
def test_parameters_are_held_to_what_a_class_says_of_them(tmp_path: Path, said: str, told: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"class = 'policies.conserving:ConservingPolicy'\n[parameters]\n{said}\n")
    with pytest.raises(InputError) as fault:
        load_policy(str(path))
    assert told in str(fault.value)
