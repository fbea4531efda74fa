# SPDX-License-Identifier: MIT
"""Every CUDA text of a dataset through nvcc, each by itself: nvcc_check.py NVCC DIR [ARCH]

The last line counts them; exit code 1 when one does not compile.
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile


def compile_text(job):
    nvcc, arch, folder, number, name, text = job
    path = os.path.join(folder, f"{number}.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([nvcc, "-ptx", f"-arch={arch}", "-std=c++17", "-o", path + ".ptx", path], capture_output=True,
                          text=True, check=False)
    return name, done.returncode, done.stdout + done.stderr


def main():
    nvcc, dataset = sys.argv[1], sys.argv[2]
    arch = sys.argv[3] if len(sys.argv) > 3 else "compute_90"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for shard in sorted(glob.glob(os.path.join(dataset, "pairs-*.jsonl"))):
            for line in open(shard, encoding="utf-8"):
                record = json.loads(line)
                for field in ("cuda_forward", "cuda_backward"):
                    if record[field]:
                        jobs.append((nvcc, arch, folder, len(jobs), f"{record['id']} {field}", record[field]))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, code, output in pool.map(compile_text, jobs):
                if code != 0:
                    failed += 1
                    print(f"{name}:\n{output}")
    print(f"{len(jobs) - failed} of {len(jobs)} texts compile with nvcc")
    return 1 if failed or not jobs else 0


sys.exit(main())
