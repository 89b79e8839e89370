"""Learning one skill-conditioned policy: networks, games that pay skills, imitation, reinforcement learning, policy files."""
