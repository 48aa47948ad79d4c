"""Dated lists of prices: one TOML file a provider, model and month, in `scenarios/prices`.

A scenario says `prices = "name"`, or a path, beside its `[provider]`. In comes the data of such a
scenario, out come the same data with the list's prices under what `[provider]` says itself.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from scenarios.tables import Limited, ProviderTable, in_order
from simulator.catalogue import names, read_entry, validated
from simulator.errors import InputError, nearest_name
from simulator.prices import TokenClass
from simulator.schema import Amount, Table, Tokens

CATALOGUE = Path(__file__).parent / "prices"

ALWAYS_USED = (TokenClass.INPUT, TokenClass.OUTPUT)
"""Classes that a model without a prompt cache bills too."""


class Rates(Table):
    """Dollars for a million tokens, by class; a class that is not sold is left out."""

    input: Amount | None = None
    cache_read: Amount | None = None
    cache_write: Amount | None = None
    output: Amount | None = None


class TierRates(Rates, Limited):
    """Prices of all tokens of a request that is short enough."""


class PriceFile(Rates):
    """One list of prices; where there are tiers, the prices beside them hold above the last."""

    summary: str = ""
    source: str
    date: datetime.date
    currency: Literal["usd"]
    cache_seconds: Amount | None = None
    cache_minimum_tokens: Tokens = 0
    cache_block_tokens: Annotated[int, Field(ge=1, le=10**9)] = 1
    tier: Annotated[tuple[TierRates, ...], AfterValidator(in_order)] = ()


def price_list_names() -> list[str]:
    """Return the names in the catalogue of prices, sorted."""
    return names(CATALOGUE)


def load_prices(
    reference: str, where: str = "", beside: Path | None = None, today: datetime.date | None = None
) -> PriceFile:
    """Return a list of prices by name or path.

    Parameters
    ----------
    reference : str
        A name of the catalogue, or the path of a TOML file.
    where : str, optional
        Who asks, for messages: file and key.
    beside : Path, optional
        The folder that a path starts from.
    today : date, optional
        No list may be of a later day; None is the clock's.

    Raises
    ------
    InputError
        There is no such list, or something in it is wrong.

    >>> load_prices("anthropic-opus-5-2026-07").cache_read
    0.5
    """
    is_path = reference.endswith(".toml") or "/" in reference
    if not is_path and reference not in names(CATALOGUE):
        raise InputError(
            f"unknown price list {reference!r}",
            where=where,
            expected=f"one of {', '.join(names(CATALOGUE))}, or the path of a TOML file",
            nearest=nearest_name(reference, names(CATALOGUE)),
        )
    place = str((beside or Path()) / reference) if is_path else reference
    entry = read_entry("price list", place, CATALOGUE, not_inherited=("summary", "source", "date"))
    prices = validated(PriceFile, entry.data, str(entry.path))
    latest = today or datetime.date.today()
    # a clock that is behind takes nobody's catalogue away; a test holds the catalogue to its date
    if prices.date > latest and (today or entry.path.parent != CATALOGUE):
        raise InputError(
            f"{prices.date} is in the future", where=f"{entry.path}: date", expected=f"{latest} or before"
        )
    return prices


def priced(data: Mapping[str, object], where: str, folder: Path) -> dict[str, object]:
    """Return a scenario's data with the prices that it names under those that it says.

    Parameters
    ----------
    data : mapping
        A scenario file's, with all that is laid over it.
    where : str
        The scenario, for messages.
    folder : Path
        Where a path starts from.

    Raises
    ------
    InputError
        The list is faulty, or has no price of a class of tokens that the scenario uses.
    """
    reference, said = data.get("prices"), data.get("provider", {})
    if not isinstance(reference, str) or not isinstance(said, Mapping):
        return dict(data)  # none is named, or the schema says what is wrong
    prices = load_prices(reference, f"{where}: prices", folder)
    of_cache = prices.model_dump(
        include={"cache_seconds", "cache_minimum_tokens", "cache_block_tokens"}, exclude_none=True
    )
    lives = {"cache_seconds": ProviderTable().cache_seconds, **of_cache, **said}["cache_seconds"]
    used = tuple(TokenClass) if lives else ALWAYS_USED
    fault = f"{where}: prices", reference
    tiers = [
        {"up_to": tier.up_to, **_rates(tier, said, used, *fault, f"tier {place}: ")}
        for place, tier in enumerate(prices.tier)
    ]
    rates = _rates(prices, said, used, *fault)
    return {**data, "provider": {**of_cache, **rates, **({"tiers": tiers} if tiers else {}), **said}}


def _rates(
    rates: Rates,
    said: Mapping[str, object],
    used: Sequence[TokenClass],
    where: str,
    name: str,
    tier: str = "",
) -> dict[str, object]:
    """Return prices by the names that `[provider]` has for them; what is said there holds in each tier."""
    found: dict[str, object] = {}
    plain = said.get("input_usd", rates.input)
    for kind in TokenClass:
        key = f"{kind}_usd"
        listed = getattr(rates, kind)
        if key not in said and listed is None and kind in used:
            raise InputError(
                f"{name!r} has no price of {kind}, which the scenario uses",
                where=where,
                expected=f"{tier}{kind} in the list, or provider.{key} in the scenario",
            )
        # a class that is not sold is not billed either: the price of plain input stands for it
        found[key] = said.get(key, plain if listed is None else listed)
    return found
