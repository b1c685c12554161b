#!/usr/bin/env python3
"""Runs fuzz targets.

  run.py short  --bin DIR NAME      ten seconds from a fixed seed, a fresh corpus (ctest)
  run.py canary --bin DIR NAME      the same, and passes when the planted fault is found
  run.py long   --bin DIR [NAME…]   --seconds each, --jobs at a time, random seed, corpus kept

Findings stay in DIR/findings/NAME, grown corpora in DIR/grown/NAME. Exit codes: 0 nothing found,
1 a finding (or a canary that lives), 2 wrong use.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHORT_SECONDS = 10
SHORT_SEED = 20
MAX_LENGTH = 4096
# Freed memory is watched for a while, not for the 256 MB that only cost time here.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=16")


def targets_in(folder):
    names = sorted(p.name.removeprefix("fuzz_") for p in folder.glob("fuzz_*") if p.is_file())
    return [name for name in names if name != "canary"]


def command_for(args, name, corpus, seed, seconds):
    findings = args.bin / "findings" / name
    findings.mkdir(parents=True, exist_ok=True)
    command = [
        args.bin / f"fuzz_{name}", f"-max_total_time={seconds}", f"-seed={seed}",
        f"-max_len={MAX_LENGTH}", "-timeout=5", "-rss_limit_mb=2048", "-malloc_limit_mb=1024",
        "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={findings}/",
    ]
    dictionary = HERE / "dictionary" / f"{name}.dict"
    if dictionary.exists():
        command.append(f"-dict={dictionary}")
    command.append(corpus)
    seeds = HERE / "corpus" / name
    if seeds.is_dir():
        command.append(seeds)
    return [str(part) for part in command]


def fuzz(args, name, seed, seconds, keep):
    """One target; (found something, its output)."""
    corpus = args.bin / "grown" / name
    if not keep:
        corpus = args.bin / "fresh" / name
        shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True, exist_ok=True)
    command = command_for(args, name, corpus, seed, seconds)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=seconds + 90, check=False, env=ENVIRONMENT,
    )
    return done.returncode != 0, done.stdout


def summary(name, seed, output):
    def last(pattern):
        found = re.findall(pattern + r"(\d+)", output)
        return found[-1] if found else "?"

    runs, speed = last("number_of_executed_units: "), last("average_exec_per_sec: +")
    coverage, corpus, memory = last("cov: "), last("corp: "), last("peak_rss_mb: +")
    return (f"{name}: seed {seed}, {runs} runs, {speed}/s, coverage {coverage}, "
            f"corpus {corpus}, {memory} MB")


def tell_finding(args, name, output):
    print("\n".join(output.splitlines()[-60:]))
    file = re.findall(r"Test unit written to (\S+)", output)
    if file:
        print(f"\nto repeat it: {args.bin}/fuzz_{name} {file[-1]}")
    print("what to do with a finding: docs/fuzzing.md")


def short(args):
    name, = args.names
    found, output = fuzz(args, name, SHORT_SEED, SHORT_SECONDS, keep=False)
    print(summary(name, SHORT_SEED, output))
    if found:
        tell_finding(args, name, output)
    return 1 if found else 0


def canary(args):
    """The fault is found by search, not by a seed, is the planted one, and repeats."""
    name, = args.names
    shutil.rmtree(args.bin / "findings" / name, ignore_errors=True)
    found, output = fuzz(args, name, SHORT_SEED, SHORT_SECONDS, keep=False)
    file = re.findall(r"Test unit written to (\S+)", output)
    if not found or not file or "heap-buffer-overflow" not in output:
        print(output[-4000:])
        print(f"the fault that is planted in {name} was not found: fuzzing here finds nothing")
        return 1
    again = subprocess.run(
        [str(args.bin / f"fuzz_{name}"), file[-1]], capture_output=True, text=True,
        errors="replace", timeout=60, check=False,
    )
    if again.returncode == 0:
        print("the finding does not repeat from its file")
        return 1
    print(summary(name, SHORT_SEED, output))
    return 0


def long(args):
    names = args.names or targets_in(args.bin)
    seed = args.seed or random.SystemRandom().randrange(1, 2**31)
    print(f"{len(names)} targets, {args.seconds} s each, {args.jobs} at a time, seed {seed}")
    failed = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(fuzz, args, name, seed, args.seconds, True): name for name in names}
        for run in concurrent.futures.as_completed(runs):
            found, output = run.result()
            print(summary(runs[run], seed, output), flush=True)
            if found:
                failed.append(runs[run])
                tell_finding(args, runs[run], output)
    if failed:
        print("findings in: " + ", ".join(sorted(failed)))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=["short", "canary", "long"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_intermixed_args()
    args.bin = args.bin.resolve()
    missing = [n for n in args.names if not (args.bin / f"fuzz_{n}").exists()]
    if missing or (args.mode != "long" and len(args.names) != 1):
        names = ", ".join(targets_in(args.bin)) or "none; build the target `fuzzers`"
        print(f"run.py: no target {' '.join(missing)} in {args.bin} (there: {names})", file=sys.stderr)
        return 2
    return {"short": short, "canary": canary, "long": long}[args.mode](args)


if __name__ == "__main__":
    sys.exit(main())
