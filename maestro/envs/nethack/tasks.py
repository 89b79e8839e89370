"""The success tests of NetHack's nine tasks, two for each, by the names task.toml gives.

`<task>_true` asks the engine whether what the task's text says has happened; `<task>_compatible` scores what
MaestroMotif's code scores, so that figures can be set beside the published ones. `docs/tasks.md` sets texts,
tests and differences side by side.

A test's `update` runs after every step of every game, so each first asks something cheap of the state (has
the level changed, is there a message) and only then the engine.
"""

from __future__ import annotations

from maestro.envs.nethack import success_compatible as compatible
from maestro.envs.nethack import success_true as true
from maestro.envs.nethack.success_base import SuccessWatch

SUCCESS_TESTS: dict[str, type[SuccessWatch]] = {
    "gnomish_true": true.GnomishTrue,
    "gnomish_compatible": compatible.GnomishCompatible,
    "delphi_true": true.DelphiTrue,
    "delphi_compatible": compatible.DelphiCompatible,
    "minetown_true": true.MinetownTrue,
    "minetown_compatible": compatible.MinetownCompatible,
    "transactions_true": true.TransactionsTrue,
    "transactions_compatible": compatible.TransactionsCompatible,
    "price_true": true.PriceTrue,
    "price_compatible": compatible.PriceCompatible,
    "buc_true": true.BucTrue,
    "buc_compatible": compatible.BucCompatible,
    "goldenexit_true": true.GoldenExitTrue,
    "goldenexit_compatible": compatible.GoldenExitCompatible,
    "levelupsell_true": true.LevelUpSellTrue,
    "levelupsell_compatible": compatible.LevelUpSellCompatible,
    "discoveryhunger_true": true.DiscoveryHungerTrue,
    "discoveryhunger_compatible": compatible.DiscoveryHungerCompatible,
}
"""Name to class; an object watches one episode of one game."""
