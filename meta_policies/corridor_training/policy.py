class Policy:
    def select_skill(self, state, finished, startable):
        if "opener" in startable:
            return "opener"
        if finished == "eastwalker" and "keyfinder" in startable:
            return "keyfinder"
        return "eastwalker"
