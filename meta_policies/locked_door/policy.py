class Policy:
    def select_skill(self, state, finished, startable):
        if "opener" in startable:
            return "opener"
        if state.num_keys == 0:
            return "keyfinder"
        return "eastwalker"
