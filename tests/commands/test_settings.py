"""What stands after --config: files and keys, put together and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from maestro.commands._settings import SettingsPath, read_settings
from maestro.errors import ConfigError, MaestroError, SpecError


class Inner(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    rate: float = 1.0
    name: str = ""


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    pairs: int = 10
    store: SettingsPath | None = None
    shard: str = "1/1"
    inner: Inner = Inner()
    on: bool = False


def test_nothing_gives_the_defaults():
    assert read_settings((), Settings) == Settings()


def test_later_words_count_and_tables_are_merged(tmp_path):
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text("pairs = 1\n[inner]\nrate = 2\nname = 'x'\n")
    two.write_text("pairs = 2\n[inner]\nrate = 3\n")
    found = read_settings((str(one), str(two), "inner.rate=0.5", "on=true"), Settings)
    assert found == Settings(pairs=2, inner=Inner(rate=0.5, name="x"), on=True)
    assert read_settings(("pairs=7", str(one)), Settings).pairs == 1


def test_texts_need_no_quotes_and_home_is_known(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    found = read_settings(("shard=2/3", "store=~/a b.sqlite", 'inner.name="q"'), Settings)
    assert (found.shard, found.store, found.inner.name) == ("2/3", Path("/home/ann/a b.sqlite"), "q")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("pears=3", "did you mean 'pairs'"),
        ("inner.rat=3", "did you mean 'rate'"),
        ("pairs=many", "--config: pairs"),
        ("pairs", "neither a file nor a key"),
        ("=3", "no setting"),
        ("a b=3", "no setting"),
        ("missing.toml", "the file does not exist"),
    ],
)
def test_a_wrong_word_is_named(word, said):
    with pytest.raises(MaestroError) as caught:
        read_settings((word,), Settings)
    assert said in str(caught.value)
    assert isinstance(caught.value, ConfigError | SpecError)


def test_a_fault_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    for text, said in (
        ("pairs = 'x'", "mine.toml"),
        ("pairs = ", "not valid TOML"),
        ("pears = 1", "did you mean"),
    ):
        path.write_text(text)
        with pytest.raises(SpecError, match=said) as caught:
            read_settings((str(path), "pairs=1"), Settings)
        assert "mine.toml" in str(caught.value)
