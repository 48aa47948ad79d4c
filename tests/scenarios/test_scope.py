"""Scope controls: the same naive policy, one condition of the world changed, and the failure is not there."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from policies import load_policy
from scenarios import load_scenario, scenario_names
from simulator.setting import Setting
from simulator.simulation import simulate

SCOPES: dict[str, tuple[str, str]] = {
    "scope-append-only": ("runtime", "constraints_lost"),
    "scope-cheap-recovery": ("laws workload", "summary.outcome"),
    "scope-external-validator": ("instructions", "summary.stale_obedience"),
    "scope-hard-barrier": ("instructions", "summary.stale_obedience"),
    "scope-no-references": ("workload", "summary.outcome"),
    "scope-not-forced": ("window", "constraints_lost"),
    "scope-separate-compactor": ("runtime", "constraints_lost"),
    "scope-separate-quota": ("charged_to", "rewrites.net min"),
}
"""Scenario: the parts of its setting that differ from its base's, and the response that tells the failure."""


def base_of(name: str) -> Setting:
    """Return the setting whose worlds a scenario shares: its base's."""
    setting = load_scenario(load_scenario(name).setting().draws).setting()
    assert setting.draws == setting.name != name
    return setting


@pytest.mark.contract
def test_every_scope_control_is_tried() -> None:
    assert {name for name in scenario_names() if name.startswith("scope-")} == set(SCOPES)


@pytest.mark.contract
@pytest.mark.parametrize("name", SCOPES)
def test_a_scope_control_is_its_base_with_one_condition_changed(name: str) -> None:
    setting, base = load_scenario(name).setting(), base_of(name)
    differ = {one.name for one in fields(Setting) if getattr(setting, one.name) != getattr(base, one.name)}
    assert differ == {"name", *SCOPES[name][0].split()}
    # where a table differs, the rest of it is the base's
    if name in {"scope-append-only", "scope-separate-compactor"}:
        condition = name == "scope-append-only"
        assert setting.runtime == replace(base.runtime, append_only=condition, restores=not condition)
    if "instructions" in differ:
        validator = name == "scope-external-validator"
        assert setting.instructions == replace(base.instructions, validator=validator, barrier=not validator)


@pytest.mark.contract
@pytest.mark.parametrize("name", SCOPES)
def test_the_failure_is_there_without_the_condition(name: str) -> None:
    scenario, response = load_scenario(name), SCOPES[name][1]
    policy = scenario.file.run.policies[0]
    assert policy in load_scenario(scenario.setting().draws).file.run.policies  # judged under the same policy
    (expected,) = (one for one in scenario.file.expect if (one.policy, one.response) == (policy, response))
    for seed in range(3):
        with_it = simulate(scenario.setting(), load_policy(policy), seed)
        without = simulate(base_of(name), load_policy(policy), seed)
        assert all(map(expected.holds, expected.values(with_it)))
        assert not any(map(expected.holds, expected.values(without)))
