"""The conservation gate (field record 000): commit only what is proven to leave room.

Two steps, both pure: `admit` is the cheapest bound, before anything is emitted; `prove` stands on
exact, attributed figures, before commit. Standard library only: lift it into a real agent as it is.
"""

from __future__ import annotations

from simulator.contracts import Bound, Gate, Proposal, RewriteBudgetViolation, Verdict


def admit(bound: Bound) -> Verdict:
    """Judge whether a rewrite can free more than it costs, before it costs anything.

    Parameters
    ----------
    bound : Bound
        Freeable tokens and the costs that the policy would charge itself.

    >>> admit(Bound(freeable=100, rewrite_cost=160, measurement_cost=12)).accepted
    False
    """
    net = bound.freeable - bound.rewrite_cost - bound.measurement_cost
    figures = {**bound._asdict(), "net": net}
    if net >= 1:
        return Verdict(True, f"may free net {net} tokens", figures)
    return Verdict(
        False,
        f"cannot pay for itself: freeable={bound.freeable} rewrite_cost={bound.rewrite_cost} "
        f"measurement_cost={bound.measurement_cost} net={net}",
        figures,
        RewriteBudgetViolation,
    )


def prove(proposal: Proposal) -> Verdict:
    """Judge a rewrite by the conservation identity: substrate, then attribution, then net.

    `net = freed - rewrite_cost - measurement_cost` must be 1 or more: 0 is churn.

    Parameters
    ----------
    proposal : Proposal
        Exact sizes of what is staged and tokens emitted since the check, in tokens.

    >>> prove(Proposal(freed=400, rewrite_cost=380, measurement_cost=90, slack=50)).require()
    Traceback (most recent call last):
        ...
    simulator.contracts.RewriteBudgetViolation: budget not conserved: freed=400 rewrite_cost=380 \
measurement_cost=90 net=-70 slack=50
    """
    net = proposal.freed - proposal.rewrite_cost - proposal.measurement_cost
    figures = {
        "freed": proposal.freed,
        "rewrite_cost": proposal.rewrite_cost,
        "measurement_cost": proposal.measurement_cost,
        "unattributed": proposal.unattributed,
        "net": net,
        "slack": proposal.slack,
    }
    if proposal.touched_own_substrate:
        reason = "the plan touches its own decision records"
    elif proposal.unattributed or proposal.rewrite_cost < 0 or proposal.measurement_cost < 0:
        reason = (
            f"{proposal.unattributed} tokens are attributed to no component: freed={proposal.freed} "
            f"rewrite_cost={proposal.rewrite_cost} measurement_cost={proposal.measurement_cost} "
            f"slack={proposal.slack}"
        )
    elif net < 1:
        reason = (
            f"budget not conserved: freed={proposal.freed} rewrite_cost={proposal.rewrite_cost} "
            f"measurement_cost={proposal.measurement_cost} net={net} slack={proposal.slack}"
        )
    else:
        return Verdict(True, f"net {net} tokens", figures)
    return Verdict(False, reason, figures, RewriteBudgetViolation)


class ConservationGate(Gate):
    """Both steps as a part of a policy."""

    name = "conservation"

    def admit(self, bound: Bound) -> Verdict:
        """Judge the cheapest bound."""
        return admit(bound)

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the exact figures."""
        return prove(proposal)
