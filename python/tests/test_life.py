# SPDX-License-Identifier: MIT
"""What is left behind: memory over many lives, other threads that run meanwhile, a process that is killed. More lives:
python python/tests/test_life.py 10000"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import dotmatrix as dm

PACKAGES = pathlib.Path(dm.__file__).parents[1]


def resident():
    """Bytes of this process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def live(rom, times):
    for _ in range(times):
        with dm.Swarm(rom, 2, device="cpu:1", obs=("packed", "vector"), obs_as="dlpack", frames_per_step=2) as swarm:
            swarm.step(b"\1\2")
            swarm.rewards.tobytes()
            swarm.save_states([0])
        with dm.GameBoy(rom) as gb:
            gb.tick(2)
            gb.memory[0xC000:0xC010]
            gb.rgba(bytes(16)).tobytes()
            gb.load_state(gb.save_state())


def grown(rom, times):
    live(rom, 100)
    before = resident()
    live(rom, times)
    return resident() - before


def test_memory_stays(starfall):
    assert grown(starfall, 300) < 4 << 20


def test_errors_leave_nothing(starfall):
    def fail():
        for _ in range(300):
            for wrong in ({"codec": "x"}, {"obs": "x"}, {"frames_per_step": 5000}, {"regions": [(0xFF00, 4)]}):
                with pytest.raises(dm.Error):
                    dm.Swarm(starfall, 2, device="cpu:1", **wrong)
            with pytest.raises(dm.Error):
                dm.GameBoy(b"x" * 1000)

    fail()
    before = resident()
    fail()
    assert resident() - before < 2 << 20


def test_others_run_meanwhile(starfall):
    """A long tick in one thread leaves the interpreter to others."""
    with dm.GameBoy(starfall) as gb:
        thread = threading.Thread(target=gb.tick, args=(60_000, False))
        thread.start()
        count = 0
        while thread.is_alive():
            count += 1
            time.sleep(0.0005)
        thread.join()
        assert count > 5


def test_one_thread_at_a_time(starfall):
    with dm.GameBoy(starfall) as gb:
        thread = threading.Thread(target=gb.tick, args=(200_000, False))
        thread.start()
        time.sleep(0.02)
        errors = 0
        while thread.is_alive():
            try:
                gb.tick(1)
            except dm.InvalidArgument as error:
                assert "another thread" in str(error)
                errors += 1
            time.sleep(0.001)
        thread.join()
        assert errors > 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_killed(starfall, how, tmp_path):
    """Nothing is left of a process that is killed while it steps: no process, no file."""
    code = "import sys, dotmatrix as dm\ns = dm.Swarm(sys.argv[1], 64, device='cpu:2', obs='packed', obs_as='dlpack')\nprint('on', flush=True)\nwhile True: s.step(None)"
    env = dict(os.environ, PYTHONPATH=str(PACKAGES), TMPDIR=str(tmp_path))
    child = subprocess.Popen([sys.executable, "-B", "-c", code, starfall], env=env, stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout.readline() == b"on\n"
    time.sleep(0.1)
    child.send_signal(how)
    assert child.wait(10) == -how
    child.stdout.close()
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)
    assert not list(tmp_path.iterdir())


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    began = time.monotonic()
    growth = grown(dm.rom_path("STARFALL"), number)
    print(f"{number} lives in {time.monotonic() - began:.0f} s: {resident() >> 20} MiB resident, {growth >> 10} KiB more than after 100")
