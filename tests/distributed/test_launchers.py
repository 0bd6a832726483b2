"""What launchers tell processes in the environment, and the lines that `rushlight launch` gives MPI's launcher for several machines."""

import argparse
from types import SimpleNamespace

import pytest

pytest.importorskip("mpi4py")
from rushlight.cli import launch, launched
from rushlight.distributed import launch as old_launch
from rushlight.distributed import meeting, run

TOLD = {
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
    "MPICH": {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"},
    "Slurm": {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1"},
    "torchrun": {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"},
}


@pytest.mark.parametrize("launcher", TOLD)
def test_ranks_that_launchers_tell(monkeypatch, launcher):
    for name in {name for names in TOLD.values() for name in names} | {
        "PMI_FD",
        "PMI_PORT",
        "PMIX_RANK",
        "PMIX_NAMESPACE",
    }:
        monkeypatch.delenv(name, raising=False)
    assert not meeting.started_by_launcher() and meeting.local_rank() is None
    for name, value in TOLD[launcher].items():
        monkeypatch.setenv(name, value)
    assert meeting.ranks("env://", -1, -1) == (5, 8) and meeting.local_rank() == 1
    assert meeting.ranks("env://", 3, 4) == (3, 4)  # what is passed counts
    assert meeting.started_by_launcher() == (launcher != "torchrun")


@pytest.mark.parametrize("options", [[], ["--use-env"], ["-m"]])
def test_the_older_launcher_tells_the_local_rank(monkeypatch, options):
    """As ``torch.distributed.launch`` does, which warns that it is old."""
    lines = []
    recorder = SimpleNamespace(Popen=lambda line: SimpleNamespace(wait=lambda: lines.append(line)))
    monkeypatch.setattr(run, "subprocess", recorder)
    monkeypatch.setattr(launch, "_is_open_mpi", lambda: False)
    with pytest.warns(FutureWarning, match="torch.distributed.launch is deprecated"):
        old_launch.main([*options, "script", "--rate", "1"])
    parser = argparse.ArgumentParser()
    launch.add_launch(parser.add_subparsers())
    line = launch._command(parser.parse_args(lines[0][3:]), [])
    found = launched._split(line[line.index("rushlight.cli.launched") + 1 :], 7)
    wanted = ["--rate", "1"] if "--use-env" in options else ["--local-rank=7", "--rate", "1"]
    assert found == ("-m" in options, "script", wanted)


@pytest.mark.parametrize("of_open_mpi", [False, True])
@pytest.mark.parametrize("how", ["hosts", "hostfile"])
def test_lines_for_several_machines(monkeypatch, tmp_path, of_open_mpi, how):
    monkeypatch.setattr(launch, "_is_open_mpi", lambda: of_open_mpi)
    (tmp_path / "hosts").write_text("# two machines\nfirst slots=2\nsecond:2  # the other\n\n")
    named = {"hosts": ["--hosts", "first,second"], "hostfile": ["--hostfile", str(tmp_path / "hosts")]}[how]
    parser = argparse.ArgumentParser()
    launch.add_launch(parser.add_subparsers())
    options = parser.parse_args(["launch", "--nproc-per-node=2", "--nnodes=2", *named, "script.py", "--rate", "1"])
    hosts = launch._hosts(options)
    line = launch._command(options, hosts)
    assert hosts == ["first", "second"] and line[1:3] == ["-n", "4"] and line[-3:] == ["script.py", "--rate", "1"]
    wanted = (
        "--map-by ppr:2:node:OVERSUBSCRIBE --bind-to none --host first:2,second:2"
        if of_open_mpi
        else "-hosts first,second -ppn 2"
    )
    assert wanted in " ".join(line)
    told = launch._environment(options, hosts, 0)
    assert told["MASTER_ADDR"] == "first" and told["LOCAL_WORLD_SIZE"] == "2"
