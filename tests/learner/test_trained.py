"""A trained network playing: its episodes follow from their seeds alone, and it refuses what it does not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maestro.content import Content, shipped_root
from maestro.envs import make_features, make_world
from maestro.envs.world import IDLE
from maestro.errors import PolicyFileError
from maestro.evaluation.collect import ChunkTask, CollectSetup, Share, play_chunk
from maestro.evaluation.games import Games, Setup, check_setup
from maestro.evaluation.play import Workers, play_here
from maestro.evaluation.policies import make_policy, policy_identity
from maestro.evaluation.store import identity
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork
from maestro.learner.policy_file import describe, save_policy
from maestro.learner.trained import BLOCK, TrainedPolicy
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy

ROOT = shipped_root()
CONTENT = Content((ROOT,))
TINY = NetworkConfig(core_size=8, hidden=8, head=0, vector_layers=(8,), precision="float32")


def save(folder: Path, order: list[str] | None = None, seed: int = 5) -> Path:
    """Save a network that nobody trained; `order` numbers its skills otherwise than the content does."""
    skills = CONTENT.skills("corridor")
    chosen = [skills[name] for name in (order or skills)]
    world = make_world("corridor", 1)
    features = make_features(world, "compass")
    specs = {name: ArraySpec(array.shape[1:], str(array.dtype)) for name, array in features.arrays.items()}
    torch.manual_seed(seed)
    network = PolicyNetwork(TINY, specs, len(chosen), len(world.action_names))
    with torch.no_grad():
        network.logits.weight.mul_(60)
    save_policy(folder, network, describe(world, features, chosen) | {"method": "by chance", "steps": 0})
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("policy"))


def setup(policy: Path | str, num_games: int = 3, roots: tuple[Path, ...] = (ROOT,)) -> Setup:
    return Setup("locked_door", str(policy), 0, num_games, roots)


def played(given: Setup, episodes: list[int]) -> dict[int, list[int]]:
    return {
        one.record.episode: one.file.actions.tolist()
        for one in play_here(given, episodes)
        if one.file is not None
    }


def executive(num_games: int) -> Executive:
    task = CONTENT.task("locked_door")
    skills = CONTENT.skills("corridor")
    return Executive(load_options(skills), load_policy(task, skills), task.spec.fallback, num_games)


def test_episodes_do_not_depend_on_what_is_played_beside_them(folder: Path):
    one = played(setup(folder, num_games=1), [0, 1, 2, 3])
    assert one == played(setup(folder, num_games=BLOCK + 3), [3, 1, 0, 2])
    assert len({tuple(actions) for actions in one.values()}) > 1
    assert {action for actions in one.values() for action in actions} == {0, 1, 2, 3}


def test_other_processes_play_the_same(folder: Path):
    with Workers(setup(folder), 1) as workers:
        theirs = {one.record.episode: one.file.actions.tolist() for one in workers.play([0, 1]) if one.file}
    assert theirs == played(setup(folder), [0, 1])


def test_another_seed_draws_otherwise(folder: Path):
    actions = []
    for seed in (1, 2, 1):
        world, policy = make_world("corridor", 1), TrainedPolicy(folder, 1)
        runs = executive(1)
        policy.attend(world, runs)
        world.seed(0, 3, 3)
        world.reset()
        policy.reset(0, seed)
        runs.start(0, world.states[0], 0)
        taken = []
        for _ in range(20):
            taken += policy.act(world, runs.running)
            world.step(taken[-1:])
            runs.advance(0, world.states[0])
        actions.append(taken)
    assert actions[0] == actions[2] != actions[1]


def test_actions_are_drawn_as_the_network_says(folder: Path):
    """Many games in the same state, of different seeds, draw their first actions by the network's probabilities."""
    count = 800
    world, policy, runs = make_world("corridor", count), TrainedPolicy(folder, count), executive(count)
    policy.attend(world, runs)
    for index in range(count):
        world.seed(index, 7, 7)
    world.reset()
    for index in range(count):
        policy.reset(index, index)
        runs.start(index, world.states[index], 0)
    drawn = np.bincount(policy.act(world, runs.running), minlength=4) / count
    network = policy._network
    observation = {name: torch.from_numpy(array[:1]) for name, array in policy._arrays.items()}
    logits, _, _ = network.step(observation, torch.zeros(1, network.state_size))
    expected = logits.softmax(dim=1)[0].numpy()
    assert np.abs(drawn - expected).max() < 4 * np.sqrt(0.25 / count)
    assert expected.max() < 0.99


def test_greedy_takes_the_most_probable_action(folder: Path):
    world, policy, runs = make_world("corridor", 4), TrainedPolicy(folder, 4, greedy=True), executive(4)
    policy.attend(world, runs)
    for index in range(4):
        world.seed(index, 7, 7)
    world.reset()
    for index in range(4):
        policy.reset(index, index)
        runs.start(index, world.states[index], 0)
    assert len(set(policy.act(world, runs.running))) == 1


def test_what_it_sees_is_what_training_games_show(folder: Path):
    """Along an episode features and option are those of `SkillGames` under the same actions."""
    from maestro.learner.games import GamesConfig, PayConfig, SkillGames

    config = GamesConfig(
        world="corridor", num_games=2, pay=PayConfig(intrinsic_scale=0.0, extrinsic_scale=1.0)
    )
    games = SkillGames(config, content=CONTENT)
    games.reset()
    policy = TrainedPolicy(folder, 2)
    policy.attend(games.world, games.executive)
    for _ in range(30):
        actions = policy.act(games.world, games.executive.running)
        for name, array in games.observation.items():
            np.testing.assert_array_equal(array, policy._arrays[name], err_msg=name)
        step = games.step(np.array(actions))
        for index in np.flatnonzero(step.terminated | step.truncated):
            policy.reset(int(index), 0)
    games.close()


def test_memory_is_forgotten_with_the_episode(folder: Path):
    world, policy, runs = make_world("corridor", 1), TrainedPolicy(folder, 1), executive(1)
    policy.attend(world, runs)
    memories = []
    for _ in range(2):
        world.seed(0, 3, 3)
        world.reset()
        policy.reset(0, 9)
        runs.start(0, world.states[0], 0)
        world.step(policy.act(world, runs.running))
        runs.advance(0, world.states[0])
        memories.append(policy._states.clone())
        for _ in range(3):
            world.step(policy.act(world, runs.running))
            runs.advance(0, world.states[0])
    assert torch.equal(*memories)
    assert memories[0].abs().sum() > 0


def test_idle_games_are_left_alone(folder: Path):
    world, policy, runs = make_world("corridor", 2), TrainedPolicy(folder, 2), executive(2)
    policy.attend(world, runs)
    world.reset([1])
    policy.reset(1, 0)
    runs.start(1, world.states[1], 0)
    actions = policy.act(world, runs.running)
    assert actions[0] == IDLE != actions[1]
    assert policy.act(world, [None, None]) == [IDLE, IDLE]


def test_skills_may_be_numbered_otherwise_than_in_the_content(tmp_path: Path):
    names = list(CONTENT.skills("corridor"))
    order = [names[2], names[0], names[1]]
    world, policy, runs = make_world("corridor", 1), TrainedPolicy(save(tmp_path, order), 1), executive(1)
    policy.attend(world, runs)
    world.reset()
    policy.reset(0, 0)
    skill = runs.start(0, world.states[0], 0)
    policy.act(world, runs.running)
    row = policy._option[0]
    assert [name for name, here in zip(order, row[:3], strict=True) if here] == [skill]
    assert {name for name, can in zip(order, row[3:6], strict=True) if can} == runs.startable(0)


def test_it_must_attend_before_it_acts(folder: Path):
    world = make_world("corridor", 1)
    world.reset()
    with pytest.raises(ValueError, match="attend"):
        TrainedPolicy(folder, 1).act(world, ["opener"])


def test_collecting_plays_it_too(folder: Path):
    result = play_chunk(ChunkTask(CollectSetup("corridor", (Share(str(folder), 1.0),), 0, (ROOT,)), 0))
    assert result.steps > 0
    assert result.failed == 0
    assert {row.source for row in result.rows} == {"policy"}


def test_the_contents_policy_is_called_trained(tmp_path: Path):
    save(tmp_path / "skills" / "policy")
    content = Content((tmp_path, ROOT))
    policy = make_policy("trained", "corridor", 2, content)
    assert isinstance(policy, TrainedPolicy)
    assert policy.folder == tmp_path / "skills" / "policy"
    assert check_setup(setup("trained", roots=content.roots)) == ()
    assert policy_identity("trained", "corridor", content) == policy_identity(str(policy.folder))


def test_an_evaluation_knows_which_policy_it_is_of(folder: Path, tmp_path: Path):
    one = identity(setup(folder))
    assert one["policy_identity"].startswith("sha256:")
    assert "policy_code" in one
    retold = spoilt(folder, tmp_path / "retold", evaluation={"locked_door": 1.0})
    assert identity(setup(retold))["policy_identity"] == one["policy_identity"]
    other = save(tmp_path / "other", seed=6)
    assert identity(setup(other))["policy_identity"] != one["policy_identity"]


def test_a_run_folder_may_be_given_for_the_policy_in_it(folder: Path, tmp_path: Path):
    shutil.copytree(folder, tmp_path / "run" / "policy")
    assert isinstance(make_policy(str(tmp_path / "run"), "corridor", 1), TrainedPolicy)


def spoilt(folder: Path, to: Path, **changes: Any) -> Path:
    shutil.copytree(folder, to)
    card = json.loads((to / "card.json").read_text())
    (to / "card.json").write_text(json.dumps(card | changes))
    return to


def test_what_does_not_fit_is_refused_before_anything_is_played(folder: Path, tmp_path: Path):
    with pytest.raises(PolicyFileError, match=r"for the world 'nethack'"):
        check_setup(setup(spoilt(folder, tmp_path / "world", world="nethack")))
    features = json.loads((folder / "card.json").read_text())["features"]
    with pytest.raises(PolicyFileError, match=r"version 7.*Expected: version 1"):
        Games(setup(spoilt(folder, tmp_path / "version", features=features | {"version": 7})))
    with pytest.raises(PolicyFileError, match=r"features 'gone'"):
        Games(setup(spoilt(folder, tmp_path / "gone", features=features | {"name": "gone"})))
    with pytest.raises(PolicyFileError, match="has no dance"):
        Games(setup(spoilt(folder, tmp_path / "keys", action_names=["west", "east", "open", "dance"])))
    fewer = save(tmp_path / "fewer", ["opener", "keyfinder"])
    with pytest.raises(PolicyFileError, match="never learnt the skill eastwalker"):
        check_setup(setup(fewer))


def test_a_folder_without_a_policy_names_the_command_that_makes_one(tmp_path: Path):
    with pytest.raises(PolicyFileError, match="maestro export --run"):
        check_setup(setup(tmp_path))
    (tmp_path / "learner").mkdir()
    with pytest.raises(PolicyFileError, match=f"it is a run; maestro export --run {tmp_path}"):
        check_setup(setup(tmp_path))
    with pytest.raises(PolicyFileError, match="no trained policy for the world 'corridor'"):
        check_setup(setup("trained", roots=(tmp_path, ROOT)))
