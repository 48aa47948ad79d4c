"""The shape of a synthetic conversation: who speaks, and which calls bring which results.

One `Conversation` a run says of each turn whether a user message opens it, how many tool results come
in it, and of what its reply consists beside its text. Draws are keyed by turn, and a turn reserves the
identities of the most that could come in it, so that a burst moves no other item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams

if TYPE_CHECKING:
    from scenarios.workloads.synthetic import SyntheticWorkload


class Conversation:
    """The shape of one run.

    Parameters
    ----------
    workload : SyntheticWorkload
        Whose parameters hold.
    streams : Streams
        The run's randomness.
    last_turn : int, optional
        After which nothing comes, so that nothing is called for; None has no last.

    Attributes
    ----------
    width : identities that a turn reserves beside those of its results and its text.
    """

    def __init__(self, workload: SyntheticWorkload, streams: Streams, last_turn: int | None) -> None:
        self._spec = workload
        self._last_turn = last_turn
        self._bursts = streams.uniform("burst")
        self.width = FIRST_CALL + workload.most_results

    def is_opened_by_user(self, turn: int) -> bool:
        """Whether a user message opens the turn."""
        spec = self._spec
        if spec.user_every:
            return (turn - 1) % spec.user_every == 0
        return spec.call_tokens > 0 and turn == 1

    def results(self, turn: int) -> int:
        """Return how many tool results come in the turn: where there are calls, none that nobody called."""
        spec = self._spec
        if spec.call_tokens and self.is_opened_by_user(turn):
            return 0
        return spec.burst_results if self._bursts[turn] < spec.burst_share else spec.results_per_turn

    def user_message(self, turn: int, first: int) -> Span:
        """Return the message that opens the turn; `first` is the first identity reserved."""
        return Span(first + USER_MESSAGE, Kind.USER, self._spec.user_tokens, turn, Provenance.USER)

    def around(
        self, turn: int, first: int, text: tuple[Span, ...], goal: int | None, next_goal: int | None
    ) -> tuple[Span, ...]:
        """Return the whole reply: a signed block, the text, and a call for each result of the next turn.

        A call belongs to the subgoal of its results, which is that of the next turn.
        """
        spec = self._spec
        reply = text
        if spec.thinking_tokens:
            block = Span(
                first, Kind.THINKING, spec.thinking_tokens, turn, Provenance.SELF, subgoal=goal, pair=turn
            )
            reply = (block, *text)
        if not spec.call_tokens or turn == self._last_turn:
            return reply
        return reply + tuple(
            Span(
                first + FIRST_CALL + place,
                Kind.TOOL_CALL,
                spec.call_tokens,
                turn,
                Provenance.SELF,
                subgoal=next_goal,
                pair=turn,
            )
            for place in range(self.results(turn + 1))
        )


USER_MESSAGE = 1
"""Place of the user message among the identities reserved; the signed block has the first."""

FIRST_CALL = 2
"""Place of the first call among them."""
