"""Times Salt's compiler in one process, with Salt's own Python: `compile_with_salt.py CONFIG_DIR SLS TIMES`."""
import json
import os
import sys
import time

import salt.config
import salt.loader
import salt.state


def main(folder, sls, times):
    options = salt.config.minion_config(os.path.join(folder, "minion"))
    options["grains"] = salt.loader.grains(options)
    for _ in range(times):
        # A new state object each time, since it caches what it rendered; loading modules and pillar isn't counted.
        with salt.state.HighState(options) as state:
            started = time.perf_counter()
            high, errors = state.render_highstate({"base": [sls]})
            errors += state.state.verify_high(high)
            low, more_errors = state.state.compile_high_data(high)
            seconds = time.perf_counter() - started
        if errors or more_errors:
            sys.exit(f"{sls} does not compile: {errors + more_errors}")
        print(json.dumps({"steps": len(low), "seconds": seconds}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
