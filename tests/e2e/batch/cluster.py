"""A Dask cluster with TLS as its own process: `python -m tests.e2e.batch.cluster WORKERS CA CERT KEY`.

It prints the scheduler's address, and ends when its input ends.
"""

import sys
from typing import Any, cast

from distributed import LocalCluster, Security


def main() -> None:
    workers, ca, cert, key = sys.argv[1:]
    roles = {
        f"tls_{role}_{part}": path
        for role in ("scheduler", "worker", "client")
        for part, path in (("cert", cert), ("key", key))
    }
    security = Security(require_encryption=True, tls_ca_file=ca, **roles)
    local_cluster = cast("Any", LocalCluster)  # its types are incomplete
    with local_cluster(
        n_workers=int(workers),
        threads_per_worker=1,
        security=security,
        protocol="tls://",
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
