# SPDX-License-Identifier: MIT
"""The table of hostile calls: made from the option rows of --help, and by hand."""
import dataclasses
import re
import signal
import subprocess

ROMS = ""  # the folder of the ROMs' sources; set by hostile.py

NOT_NUMBERS = ["nan", "", "seven", "1e99", "99999999999999999999", "-99999999999999999999", "1 2", "0x", "--", "1;2"]
LONG_NAME = "n" * 5000
BAD_INPUTS = ["missing", "missing/inside", "empty", "garbage", "nul", "long-line", "folder", "loop", "dangling", "",
              "game.gb/inside", "/dev/zero", LONG_NAME]
BAD_OUTPUTS = ["missing/inside", "folder", "loop", "full", "", "foreign.txt/inside", "/proc/nothing", LONG_NAME]
OUTPUT_NAMES = {"out", "trace", "save", "png", "gif", "record", "plot", "bundle", "battery", "sym"}
# What a wrong input may be called: wrong use where the command line alone shows it, else 4 or 5. Text that must
# compile is 7.
INPUT_CODES = {2, 4, 5}

_SWARM = ["--rom", "game.gb", "--backend", "vec_cpu", "--envs", "2", "--steps", "2", "--frames-per-step", "2"]
_SMALL = ["--members", "1", "--hidden", "8", "--stochastic", "1"]
_AGENT = ["--rom", "game.gb", "--reward", "reward.c", "--set", "observation=1", "--set", "random=C000:1",
          "--set", "machines=2", "--set", "horizon=2", "--set", "minibatches=1", "--set", "starts=2",
          "--set", "held_out=2", "--set", "eval_frames=8"]
_GPT = ["--data", "text.txt", "--set", "layers=1", "--set", "width=8", "--set", "heads=1", "--set", "context=8",
        "--set", "batch=2"]
# A call that works, of every command and action: (name, arguments). A row adds to it or changes it.
BASE = {
    "run": ["run", "--rom", "game.gb", "--frames", "2"],
    "run swarm": ["run", *_SWARM],
    "ram": ["ram", "--rom", "game.gb", "--search", "made.ram", "--frames", "2"],
    "verify": ["verify", "--rom", "game.gb", "--ref-backend", "single", "--verify-steps", "4"],
    "replay": ["replay", "bundle"],
    "bench": ["bench", "--backends", "vec_cpu", "--rom", "game.gb", "--env-counts", "1", "--seconds", "0.01", "--repeat",
              "1", "--warmup-steps", "0", "--diverge-frames", "0"],
    "report": ["report", "bench.json", "--out", "report"],
    "info": ["info"],
    "roms build": ["roms", "build", "ALU_LOOP"],
    "roms list": ["roms", "list"],
    "roms check": ["roms", "check", "ALU_LOOP"],
    "roms info": ["roms", "info", "game.gb"],
    "run reward": ["run", "--rom", "game.gb", "--frames", "2", "--reward", "reward.py"],
    "reward check": ["reward", "check", "reward.py", "--rom", "game.gb", "--envs", "2", "--steps", "2",
                     "--frames-per-step", "2"],
    "kernel compile": ["kernel", "compile", "k.py"],
    "kernel list": ["kernel", "list", "k.py"],
    "kernel check": ["kernel", "check", "k.py", "--size", "2"],
    "kernel run": ["kernel", "run", "k.py", "--dim", "4", "--arg", "a=2", "--arg", "x=x.npy", "--arg", "out=zeros:4"],
    "synth produce": ["synth", "produce", "--count", "1", "--out", "made", "--verify", "none", "--jobs", "1"],
    "synth validate": ["synth", "validate", "--in", "dataset", "--level", "none"],
    "synth show": ["synth", "show", "dataset", "1-00000001"],
    "synth stats": ["synth", "stats", "dataset"],
    "synth report": ["synth", "report", "dataset", "--out", "made.html"],
    "dynamics rollout": ["dynamics", "rollout", "--hidden", "8", "--members", "1", "--stochastic", "1", "--steps", "2"],
    "dynamics forecast": ["dynamics", "forecast", "curve.jsonl", "--steps", "2"],
    "dynamics learn": ["dynamics", "learn", "curve.jsonl", "--updates", "2", *_SMALL, "--out", "made.safetensors"],
    "dynamics evaluate": ["dynamics", "evaluate", "curve.jsonl"],
    "dynamics check": ["dynamics", "check"],
    "dynamics bench": ["dynamics", "bench", "--quick", "--only", "encoder"],
    "train xor": ["train", "xor", "--steps", "5", "--out", "made"],
    "train gpt": ["train", "gpt", *_GPT, "--steps", "2", "--out", "made"],
    "train cnn": ["train", "cnn", "--data", "images", "--set", "channels=2", "--steps", "2", "--out", "made"],
    "train agent": ["train", "agent", *_AGENT, "--steps", "8", "--out", "made"],
    "train data": ["train", "data", "--images", "images.idx", "--labels", "labels.idx"],
    "train sweep": ["train", "sweep", "sweep.json", "--out", "made"],
    "train eval": ["train", "eval", "gpt-run"],
    "train sample": ["train", "sample", "gpt-run", "--tokens", "2"],
    "train export": ["train", "export", "gpt-run", "--out", "made.safetensors"],
    "train report": ["train", "report", "xor", "--seeds", "2", "--steps", "5"],
    "train report all": ["train", "report", "--quick", "--tasks", "xor", "--out", "made"],
}
# Numbers for which -1 or 0 is a value like any other.
NEGATIVE_IS_FINE = {"seed", "actions-seed", "sync-every", "rank"}
# Options whose value is a list or a text that only looks like a number's place.
SLOW_ACTIONS = {"dynamics check", "dynamics bench"}
# One parser reads all whole numbers: one option of each action gets every wrong form, the others these.
FEW_NOT_NUMBERS = ["seven", "99999999999999999999"]

NUMBER = r"N|K|S|SM|R|J|CYCLES"  # what --help calls the values that are numbers

# --out is a folder that is filled
RUNS = {"train xor", "train cnn", "train gpt", "train agent", "train sweep", "train report all"}

KNOWN = {}  # part of a row's name: why it still fails


@dataclasses.dataclass
class Row:
    name: str
    args: list
    codes: set
    message: str = ""
    env: dict = dataclasses.field(default_factory=dict)
    stdout: str = ""
    interrupt: float = 0.0  # seconds after which a signal is sent
    signal: int = signal.SIGINT
    within: float = 2.0  # seconds from the signal to the end; 0.8 is what a command takes that does not look
    limit: int = 0  # bytes that a file may have: then writing fails as on a full disk
    disk: int = 0  # bytes left on the disk that holds the folder
    stranger: bool = False  # run by a user who may not write in the folder
    closed: tuple = ()  # standard streams that are closed
    checks: tuple = ()  # texts that must stand in a file afterwards: (path, text)
    diagnostics: bool = False  # several lines are fine: each error of a source has one
    may_leave: tuple = ()
    may_change: tuple = ()


@dataclasses.dataclass
class Option:
    name: str
    value: str  # what --help calls it; "" for a flag
    text: str


def known(name):
    return next((reason for part, reason in KNOWN.items() if part in name), "")


def options_of(program, key):
    """The option rows of the help of a command, or of one of its actions."""
    words = {"run swarm": ["run"], "train report all": ["train", "report"]}.get(key, key.split())
    text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
    found = []
    for line in text.split("options:\n", 1)[1].split("\nexamples:", 1)[0].splitlines():
        start = re.match(r"  --([a-z-]+)(?: (\S+))?(?:\s{2,}(.*))?$", line)
        if start:
            found.append(Option(start[1], start[2] or "", start[3] or ""))
        elif found and line.startswith("    "):
            found[-1].text += " " + line.strip()
    return [option for option in found if option.name != "help"]


def with_option(base, name, value):
    """The base call with one option set; a value that it had is replaced."""
    flag, args, result = "--" + name, list(base), []
    while args:
        word = args.pop(0)
        if word == flag and args:
            args.pop(0)
        elif not word.startswith(flag + "="):
            result.append(word)
    return result + [flag + "=" + value]


def short(text):
    return text if len(text) < 40 else f"{text[:3]}...{len(text)}"


def rows_of_values(key, base, option, thorough):
    """Wrong values of one option."""
    sources = key.startswith(("kernel", "roms"))
    def row(value, codes, **more):
        yield Row(f"{key} --{option.name}={short(value)}", with_option(base, option.name, value), codes, **more)

    if re.fullmatch(NUMBER, option.value):
        for value in NOT_NUMBERS if thorough else FEW_NOT_NUMBERS:
            yield from row(value, {2}, message=option.name)
        yield from row("-1", {0, 2} if option.name in NEGATIVE_IS_FINE else {2})
        if key not in SLOW_ACTIONS:
            yield from row("0", {0, 2})
    elif "|" in option.value:
        for value in ("", "bogus", option.value, option.value.split("|")[0] + " ", "-1"):
            yield from row(value, {2}, message=option.name)
    elif option.value in ("FILE", "DIR", "PATH") and option.name in OUTPUT_NAMES:
        suffix = {"gif": ".gif", "png": ".png", "plot": ".png", "record": ".png"}.get(option.name, "")
        for value in BAD_OUTPUTS:
            if value == "full" and option.value == "FILE" and not key.startswith("verify"):
                value += suffix
            # A folder that is there is what these take: they write into it
            into = key in ("kernel run", "roms build", "synth produce", "dynamics bench")
            fine = value == "folder" and into or value == "missing/inside" and (into or key == "report" or
                                                                                option.name == "bundle")
            fine |= value in ("folder", "missing/inside") and key in RUNS and option.name == "out"
            # A trace is written when the run is over, whose files stay
            yield from row(value, {0} if fine else {2, 4, 5}, may_leave=("made",) if option.name == "trace" else ())
    elif option.value in ("FILE", "DIR", "FOLDER"):
        for value in BAD_INPUTS:
            codes = set(INPUT_CODES)
            # A file of zeros or without keys is odd and not wrong: a ROM is run with a warning
            if (option.name, value) in (("rom", "nul"), ("input", "empty")):
                codes = {0} if key != "run swarm" or option.name == "rom" else {2}
            if (key, option.name) == ("replay", "rom"):
                codes = {2}  # of an episode, and this is a bundle
            if key == "synth validate" and value in ("garbage", "nul", "long-line"):
                codes = {1}  # the answer is that they are no records
            if sources or option.name == "reward":
                codes.add(7)
            if (option.name, value) == ("search", "missing"):
                codes = {0}  # a search begins
            if option.name in ("include", "source"):
                codes |= {0}  # a folder with nothing in it that is wanted
            # Each side warns of zeros; a program's mistakes have lines and carets
            yield from row(value, codes, diagnostics=sources or value == "nul" or option.name == "reward")
    elif option.value:
        for value in ("", ",", "bogus,", ",,,", "\x01\x02", "-1", "x" * 10000):
            codes = {0, 2} if option.name == "prompt" else {2, 3, 4, 7}
            yield from row(value, codes, diagnostics=key == "kernel compile" and option.name == "define")
    else:
        yield from row("yes", {2}, message=option.name)


def rows_of_use(key, base, options):
    """Wrong use of the command itself."""
    yield Row(f"{key}: unknown option", base + ["--nothing-like-it"], {2}, "unknown option")
    for option in options[:3]:
        wrong = option.name[:-1] + "qq" if len(option.name) > 4 else option.name + "q"
        yield Row(f"{key}: misspelt --{option.name}", base + ["--" + wrong], {2}, "unknown option")
    for option in [option for option in options if option.value][:3]:
        yield Row(f"{key}: --{option.name} without a value", base + ["--" + option.name], {2}, option.name)
    yield Row(f"{key}: unknown short option", base + ["-Z"], {2})
    yield Row(f"{key}: log level", base + ["--log-level", "loud"], {2}, "log-level")
    yield Row(f"{key}: empty argument", base + [""], {2, 4, 7})
    yield Row(f"{key}: many arguments", base + ["surplus"] * 300, {2, 4}, diagnostics=key.startswith("roms"))
    yield Row(f"{key}: binary argument", base + ["\x01\x7f\x1b[31m"], {2, 4})
    yield Row(f"{key}: doubled option", base + ["--log-level", "error", "--log-level", "warn", "--bogus"], {2})
    if key not in SLOW_ACTIONS | RUNS and key not in ("synth produce", "report", "roms build", "kernel check",
                                           "dynamics learn", "train export"):
        yield Row(f"{key}: standard output full", list(base), {5} if key != "replay" else {1, 5}, stdout="/dev/full")


def rows_of_positionals(key, base):
    """Bad files in the place of a positional argument."""
    places = {"replay": 1, "report": 1, "roms info": 2, "roms build": 2, "roms check": 2, "kernel compile": 2,
              "kernel list": 2, "kernel check": 2, "kernel run": 2, "synth stats": 2, "train eval": 2, "train sample": 2,
              "train export": 2, "train report": 2, "reward check": 2}
    if key not in places:
        return
    at = places[key]
    for value in BAD_INPUTS:
        args = list(base)
        args[at] = value if not key.startswith("roms") or key == "roms info" or not value else value + ".asm"
        odd = key == "roms info" and value == "nul"  # has a header, of zeros
        yield Row(f"{key} of {short(value)}", args, {0} if odd else {2, 4, 5, 7},
                  diagnostics=key.startswith(("kernel", "roms", "reward")))
    args = list(base)
    del args[at]
    if key not in ("roms build", "roms check"):
        yield Row(f"{key} of nothing", args, {2})


def rows_by_hand():
    def row(text, codes, message="", **more):
        args = text.split(" ") if text else []
        return Row(text or "nothing at all", args, codes if isinstance(codes, set) else {codes}, message, **more)

    swarm = " ".join(_SWARM)
    yield row("", {0, 2})
    yield row("bogus", 2, "unknown command")
    yield row("rum", 2, "run")
    yield row("help bogus", 2)
    yield row("help run verify surplus", {0, 2})
    yield row("--bogus", 2)
    yield row("--log-level", 2)
    yield row("--log-level loud info", 2)
    yield Row("a bad level in DM_LOG", ["info"], {0, 2}, "DM_LOG", env={"DM_LOG": "loud"})
    yield Row("DM_THREADS=-1", ["run", *_SWARM], {0, 2}, env={"DM_THREADS": "-1"})
    yield Row("DM_THREADS of a word", ["run", *_SWARM], {0, 2}, env={"DM_THREADS": "many"})
    yield Row("DM_THREADS far too many", ["run", *_SWARM], {0, 2, 6}, env={"DM_THREADS": "99999999999999999999"})
    yield Row("a compiler that is missing", BASE["kernel check"], {3}, "no-such-compiler", env={"CC": "no-such-compiler"}, diagnostics=True)
    yield Row("a compiler that fails", BASE["kernel run"], {3, 7, 8},
              env={"CC": "false", "DM_CACHE_DIR": "/proc/nothing"}, diagnostics=True)
    yield Row("a Python that is missing", ["verify", "--rom", "game.gb", "--ref-backend", "pyboy_single"], {3},
              env={"DM_PYTHON": "/no/such/python"})
    yield Row("a Python that fails", ["verify", "--rom", "game.gb", "--ref-backend", "pyboy_single"], {3},
              env={"DM_PYTHON": "/bin/false"})
    for command in ("roms", "kernel", "synth", "dynamics", "train", "reward"):
        yield row(command, 2)
        yield row(f"{command} bogus", 2, "bogus")
    for name in ("k.py", "x.npy"):
        yield row(f"run --rom {name}", 4)
    for name in ("truncated-game.gb", "good.state"):
        yield row(f"run --rom {name}", 0, "shorter than the header says")
    for name in ("truncated-good.state", "game.gb", "k.py", "wrong.json"):
        yield row(f"run --rom game.gb --load {name}", 4)
    for name in ("huge-numbers", "garbage", "k.py", "losses.txt"):
        yield row(f"run --rom game.gb --input {name}", 4)
    yield row("run --rom game.gb --boot-rom game.gb", 4)
    for text in ("--peek 10:5", "--peek 99999", "--peek :", "--peek 0:10001", "--poke C000", "--poke C000=100",
                 "--poke =1", "--break G", "--break 10000", "--start zero --boot-rom game.gb", "--scale 2", "--every 2",
                 "--png one.png --save one.png", "--save game.gb", "--png game.gb", "--envs 2", "--steps 2",
                 "--record a.gif", "--trace --json", "--mosaic 2", "--obs small", "--gif a.gif --frames 0 --every 0"):
        yield row(f"run --rom game.gb --frames 2 {text}", {2, 4})
    for text in ("--gif a.gif", "--save a", "--frames 5", "--mosaic 9x9", "--mosaic 0", "--mosaic 2x", "--mosaic x",
                 "--mosaic 65", "--record a.bmp", "--record a", "--stage bogus", "--obs bogus", "--action-gen bogus",
                 "--trace", "--break 150", "--peek 0:1", "--mosaic 8x8 --record a.png", "--load good.state"):
        yield row(f"run {swarm} {text}", {2, 4})
    yield row("run --rom game.gb --backend vec_cpu --envs 999999999 --steps 1", {2, 6})
    yield row("run --rom game.gb --backend vec_cuda --envs 1 --steps 1", {0, 3})
    for text in ("--ref-backend bogus", "--dut-backend bogus", "--mem-region 10:5", "--mem-region 5", "--ignore bogus",
                 "--ref-backend single --envs 4 --dut-backend single", "--by instruction --dut-backend vec_cpu",
                 "--only X", "--actions-file garbage", "--actions-file empty", "--recorded game.gb",
                 "--recorded truncated-good.recorded", "--record a --recorded good.recorded", "--roms folder",
                 "--release-after-frames 9 --frames-per-step 2", "--actions-file actions.txt --action-gen noop"):
        yield row(f"verify --rom game.gb --verify-steps 4 --ref-backend single {text}", {2, 4})
    yield row("verify", 2, "--rom")
    yield row("verify --rom game.gb --bundle folder", 5, "exists already")
    for name in ("wrong.json", "deep.json", "number.json", "garbage", "bench.json"):
        yield row(f"verify --suite {name} --roms folder", 4)
    yield row("verify --suite wrong.json --rom game.gb", {2, 4})
    for name in ("bundle-broken", "bundle-no-rom", "dataset", "bundle/meta.json"):
        yield row(f"replay {name}", {2, 4, 5})
    yield row("replay bundle bundle", 2)
    yield row("replay bundle --dut-backend bogus", 2)
    base = " ".join(BASE["bench"])
    for text in ("--backends bogus", "--backends vec_cpu,vec_cpu,bogus", "--env-counts 0", "--env-counts 1,,2",
                 "--env-counts -1", "--env-counts 99999999999999999999", "--stages bogus", "--obs bogus",
                 "--seconds 0 --steps 0", "--seconds -1", "--seconds inf", "--rom missing", "--json --out a.json"):
        yield row(f"{base} {text}", {2, 4})
    for name in ("wrong.json", "deep.json", "number.json", "truncated-bench.json", "dataset/manifest.json"):
        yield row(f"report {name} --out report", 4)
    yield row("report bench.json", 2, "--out")
    yield row("report bench.json --out folder", {2, 4, 5})
    yield row("report bench.json missing.json --out report", 4)
    yield row("info surplus", 2)
    yield Row("info with a cache that is a file", ["info"], {0}, env={"DM_CACHE_DIR": "foreign.txt"})
    yield Row("info --json to a full disk", ["info", "--json"], {5}, stdout="/dev/full")
    for name in ("k.py", "truncated-reward.py", "game.gb", "reward.c"):
        yield row(f"reward check {name} --rom game.gb", {4, 7}, diagnostics=True)
        yield row(f"run --rom game.gb --reward {name}", {4, 7}, diagnostics=True)
    yield row("reward check wrong-reward.py --rom game.gb", 2, "out of bounds")
    yield row("run --rom game.gb --frames 48 --reward wrong-reward.py", 2, "out of bounds")
    yield row(f"run {swarm} --reward reward.py --stage obs_only", 2, "--stage")
    yield row(f"run {swarm} --reward reward.py --obs vector", 2, "out.obs")
    yield row("run --rom game.gb --symbols game.sym", 2, "--symbols")
    yield row("run --rom game.gb --frames-per-step 2", 2, "--frames-per-step")
    yield row("reward check reward.py", 2, "--rom")
    yield row("roms list NOTHING", 4)
    yield row("roms build ALU_LOOP NOTHING", 4)
    yield row("roms info game.gb truncated-game.gb", 0)
    yield row("roms info game.gb missing", 4)
    yield row("roms build k.py", {2, 4, 7}, diagnostics=True)
    yield row("roms build ALU_LOOP --source folder", 4)
    yield row("roms build ALU_LOOP --source missing", 4)
    run = "kernel run k.py"
    for text in ("", "--dim 0", "--dim -1", "--dim 4,", "--dim x", "--dim 1,1,1,1,1", "--dim 99999999999",
                 "--dim 4 --arg a=x --arg x=x.npy --arg out=zeros:4", "--dim 4 --arg a=2",
                 "--dim 5 --arg a=2 --arg x=x.npy --arg out=zeros:4", "--dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:0",
                 "--dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:-1", "--dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:",
                 "--dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:99999999999999", "--dim 4 --arg a --arg x=x.npy",
                 "--dim 4 --arg a=2 --arg a=3 --arg x=x.npy --arg out=zeros:4", "--dim 4 --arg b=1",
                 "--dim 4 --arg a=2 --arg x=truncated-x.npy --arg out=zeros:4", "--kernel bogus --dim 4",
                 "--dim 4 --arg a=2 --arg x=k.py --arg out=zeros:4", "--dim 4 --arg a=2 --arg x=folder --arg out=zeros:4",
                 "--dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:2x2"):
        yield row(f"{run} {text}".strip(), {2, 4, 5, 6, 8})
    grad = f"{run} --dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:4"
    for text in ("--grad bogus=ones", "--grad out", "--grad out=missing", "--grad out=truncated-x.npy", "--grad a=ones",
                 "--no-backward --grad out=ones", "--emit ir", "--arch 90"):
        yield row(f"{grad} {text}", {2, 4})
    for text in ("--arg a=1", "--dim 4", "--grad x=ones", "--kernel bogus", "--define", "--define =", "--define X",
                 "--emit ptx --device cpu", "--emit cubin --arch 1", "--size 4", "--out k.py"):
        yield row(f"kernel compile k.py {text}", {2, 3, 4, 7, 8})
    yield row("kernel check truncated-k.py", {4, 7}, diagnostics=True)
    yield row("kernel compile empty", {2, 4, 7}, diagnostics=True)
    made = " ".join(BASE["synth produce"])
    for text in ("--categories bogus", "--categories ,", "--kinds bogus", "--kinds c,c", "--rank 5 --ranks 2", "--rank 1",
                 "--profile garbage", "--profile deep.json", "--profile wrong.json", "--png a.png", "--in dataset",
                 "--sample 3"):
        yield row(f"{made} {text}", {2, 4})
    yield row("synth produce --count 2 --verify none --out dataset --seed 7", {2, 4})
    yield row("synth produce --count 2 --verify none --out dataset-cut --jobs 1", {0, 1, 4}, may_change=("dataset-cut",))
    yield row("synth produce --count 2 --verify none --out bundle --jobs 1", 0)  # beside what is there
    for name in ("dataset-cut", "dataset-no-manifest"):
        yield row(f"synth validate --in {name} --level none", {1, 4})
    for name in ("bundle", "folder", "k.py", "losses.txt"):
        yield row(f"synth validate --in {name} --level none", {1, 2, 4})
    for text in ("show dataset bogus", "show dataset a b", "show bundle k000000", "stats bundle",
                 "stats dataset-no-manifest", "stats dataset surplus", "stats dataset --count 3",
                 "stats dataset --png missing/a.png", "validate", "validate --in dataset surplus",
                 "validate --in dataset --count 3", "validate --in dataset --out x"):
        yield row(f"synth {text}", {2, 4, 5})
    yield row("synth stats dataset --png full.png", {2, 4, 5})
    roll = " ".join(BASE["dynamics rollout"])
    for text in ("--model truncated-model.safetensors", "--model game.gb", "--model wrong.json", "--model deep.json",
                 "--losses huge-numbers", "--losses k.py", "--losses game.gb", "--kind bogus", "--device bogus",
                 "--device cpu:0", "--device cpu:-1", "--device cuda:99", "--device cuda:", "--plot a.bmp", "--plot a",
                 "--only encoder", "--quick", "--out x", "--passes 3", "--save x --plot x",
                 "--hidden 999999999", "--members 999999999", "--steps 999999999999"):
        yield row(f"{roll} {text}", {2, 3, 4, 6})
    yield row(f"{roll} --plot full.png", {2, 4, 5})
    for text in ("check surplus", "check --losses losses.txt", "check --device bogus", "bench --only bogus",
                 "bench --only ,", "bench --out foreign.txt --quick --only encoder", "bench --steps 3"):
        yield row(f"dynamics {text}", {2, 3, 4, 5})
    gpt = " ".join(BASE["train gpt"])
    for text in ("--set bogus=1", "--set layers=0", "--set heads=3", "--set context=100000", "--set preset=bogus",
                 "--set batch=65536 --set microbatches=7", "--set batch=3 --set shards=2", "--set validation=nan",
                 "--config wrong.json", "--config deep.json", "--config number.json", "--import model.safetensors",
                 "--import truncated-model.safetensors", "--import gpt-run/checkpoint.safetensors", "--import /dev/zero",
                 "--data a --data b --data c", "--data text.txt --data gpt.tok", "--data truncated-gpt.tok",
                 "--data game.gb", "--data folder", "--data /dev/zero", "--device cuda:99", "--device cpu:0", "--out gpt-run", "--resume gpt-run", "--json",
                 "--tokens 3", "--set width=65536 --set layers=110", "--set precision=bfloat16", "--set steps=1e3"):
        yield row(f"{gpt} {text}", {0, 2, 3, 4} if text == "--data game.gb" else {2, 3, 4, 5, 6})
    for name in ("gpt-cut", "gpt-garbage", "gpt-empty", "gpt-changed", "folder", "xor-run/checkpoint.safetensors"):
        for action in ("eval", "sample"):
            yield row(f"train {action} {name}", 4)
        yield row(f"train gpt --resume {name}", 4)
        yield row(f"train export {name} --out made.safetensors", 4)
    for text in ("sample xor-run", "gpt --resume xor-run", "eval gpt-run --data foreign.txt", "cnn --data folder",
                 "cnn --data images-cut", "cnn --data images-mixed", "cnn --data images-short",
                 "cnn --data images-labels", "cnn --data images-gz", "cnn --data foreign.txt"):
        yield row(f"train {text}", {2, 4})
    for text in ("sample gpt-run --temperature -1", "sample gpt-run --prompt \xff", "xor --data text.txt",
                 "export gpt-run", "export gpt-run --average --out made.safetensors", "report bogus",
                 "xor --resume xor-run --set steps=3", "xor --resume xor-run --seed 3"):
        yield row(f"train {text}", 2)
    yield from rows_of_signals()
    yield from rows_of_disks()
    yield from rows_of_environment()
    yield from rows_of_cut_files()
    yield from rows_that_say_more()


def rows_of_signals():
    """Ctrl-C and SIGTERM on every command that may take long: code 130, soon, nothing half-written."""
    roll = "dynamics rollout --members 8 --steps 1000000"
    train = " ".join(BASE["synth produce"])
    gpt = " ".join(BASE["train gpt"]).replace("--steps 2", "--steps 100000000")
    for name, text, more in (
            ("train", gpt, {}),
            ("run", "run --rom game.gb --frames 1000000000", {}),
            ("run with outputs", "run --rom game.gb --frames 1000000000 --png a.png --gif a.gif --save a.state "
             "--every 100000", {}),
            ("run with a trace", "run --rom game.gb --frames 1000000000 --trace", {}),
            ("swarm", "run --rom game.gb --backend vec_cpu --envs 64 --steps 100000000", {}),
            ("swarm with a record", "run --rom game.gb --backend vec_cpu --envs 64 --steps 100000000 --record a.gif", {}),
            ("verify", "verify --rom game.gb --ref-backend single --verify-steps 100000000", {}),
            ("verify with a record", "verify --rom game.gb --ref-backend single --verify-steps 100000000 --record a", {}),
            ("verify by instruction", "verify --rom game.gb --ref-backend single --dut-backend single --by instruction "
             "--verify-steps 100000000", {}),
            ("produce", "synth produce --count 1000000 --out made --verify none --jobs 1", {"may_leave": ("made",)}),
            ("produce in full", "synth produce --count 1000000 --out made --jobs 1 --device cpu", {"may_leave": ("made",)}),
            ("validate", "synth validate --in dataset-c --level full --jobs 1", {"interrupt": 0.02}),
            ("dynamics check", "dynamics check", {}),
            ("dynamics bench", "dynamics bench --only rollout --out made", {"may_leave": ("made",)}),
            ("dynamics rollout", roll + " --plot a.png --save a.safetensors", {}),
            ("kernel run", "kernel run slow.py --dim 64 --arg x=zeros:64", {}),
            ("bench", "bench --backends vec_cpu --rom game.gb --env-counts 8 --repeat 32 --seconds 1 --out a.json",
             {"within": 10.0, "may_leave": ("a.json",)})):
        for number in (signal.SIGINT, signal.SIGTERM):
            yield Row(f"{name} stopped by {number.name}", text.split(), {130}, "interrupted", signal=number,
                      **{"interrupt": 0.7, **more})
    yield Row("produce stopped at once", train.split() + ["--count", "1000000"], {130}, interrupt=0.05,
              may_leave=("made",))


# Calls that write, and what they write.
WRITERS = {
    "run --png": ("run --rom game.gb --frames 2 --png a.png", "a.png"),
    "run --gif": ("run --rom game.gb --frames 9 --gif a.gif", "a.gif"),
    "run --save": ("run --rom game.gb --frames 2 --save a.state", "a.state"),
    "run --record gif": (" ".join(["run", *_SWARM, "--record", "a.gif"]), "a.gif"),
    "run --record png": (" ".join(["run", *_SWARM, "--mosaic", "2x1", "--record", "a.png"]), "a.png"),
    "verify --record": ("verify --rom game.gb --ref-backend single --verify-steps 4 --record a", "a"),
    "verify --bundle": ("verify --rom game.gb --ref-backend single --dut-backend wrong_single --verify-steps 9 "
                        "--bundle made", "made"),
    "bench --out": (" ".join(BASE["bench"]) + " --out a.json", "a.json"),
    "report": ("report bench.json --out made", "made"),
    "roms build": ("roms build ALU_LOOP --out made", "made"),
    "kernel compile --out": ("kernel compile k.py --out a.c", "a.c"),
    "kernel run --out": ("kernel run k.py --dim 4 --arg a=2 --arg x=x.npy --arg out=zeros:4 --out made", "made"),
    "synth produce": (" ".join(BASE["synth produce"]), "made"),
    "synth stats --png": ("synth stats dataset --png a.png", "a.png"),
    "dynamics rollout --save": (" ".join(BASE["dynamics rollout"]) + " --save a.safetensors", "a.safetensors"),
    "dynamics rollout --plot": (" ".join(BASE["dynamics rollout"]) + " --plot a.png", "a.png"),
    "dynamics rollout --plot svg": (" ".join(BASE["dynamics rollout"]) + " --plot a.svg", "a.svg"),
}


def rows_of_disks():
    """Disks that are or become full, and folders of somebody else."""
    for name, (text, made) in WRITERS.items():
        # A dataset and a built ROM are several files: those before the one that failed may stay
        stay = (made,) if name in ("synth produce", "roms build", "kernel run --out") else ()
        for bytes_ in (0, 50, 200):
            yield Row(f"{name}: no file over {bytes_} bytes", text.split(), {5}, limit=bytes_ or 1, may_leave=stay)
        yield Row(f"{name}: the disk is full", text.split(), {5}, disk=4096, may_leave=stay)
        yield Row(f"{name}: the folder is somebody else's", text.split(), {5}, stranger=True)
    for key, base in BASE.items():
        if key in SLOW_ACTIONS or key == "synth produce":
            continue
        quiet = key in ("report", "roms build", "kernel check", "replay")
        yield Row(f"{key}: standard output closed", list(base), {0, 1, 5} if quiet else {5}, closed=(1,),
                  diagnostics=key == "train agent",  # its warning of few starts comes first
                  may_leave=("report", "ALU_LOOP.gb", "made", "made.safetensors"), may_change=("ALU_LOOP.sym",))
        yield Row(f"{key}: standard input closed", list(base), {0, 1}, closed=(0,))
        yield Row(f"{key}: standard error closed", list(base), {0, 1}, closed=(2,))


def rows_of_environment():
    swarm = ["run", *_SWARM]
    check = BASE["kernel check"]
    for name, value in (("DM_LOG", "trace"), ("DM_LOG", "warn "), ("DM_PROGRESS", "yes"), ("DM_PROGRESS", "-1"),
                        ("DM_THREADS", "0"), ("DM_THREADS", "1.5x"), ("DM_THREADS", "nan"), ("DM_LAB_TIMEOUT", "soon"),
                        ("DM_LAB_TIMEOUT", "0")):
        yield Row(f"{name}={value}", swarm, {2}, name, env={name: value})
    for value in ("missing", "/proc", "x" * 5000, "game.gb"):  # with nothing in the cache
        yield Row(f"TMPDIR={short(value)}", check, {5}, "temporary folder", diagnostics=True,
                  env={"TMPDIR": value, "DM_CACHE_DIR": "/proc/nothing"})
    for name, value, args, codes in (
            ("TMPDIR", "", check, {0}),
            ("TMPDIR", "missing", BASE["verify"] + ["--start", "post-boot"], {5}),
            ("HOME", "", check, {0}), ("HOME", "/proc", check, {0}),
            ("DM_CACHE_DIR", "/proc/nothing", check, {0}), ("DM_CACHE_DIR", "game.gb", check, {0}),
            ("DM_CACHE_DIR", "x" * 5000, check, {0, 2, 5}), ("XDG_CACHE_HOME", "relative", check, {0}),
            ("CC", "", check, {0}), ("CC", "cc -DX -O1", check, {0}), ("CC", "folder", check, {3}),
            ("CC", "cc 'unclosed", check, {0, 1, 2, 3, 7}), ("DM_CFLAGS", "--no-such-option", check, {1, 2, 3, 7, 8}),
            ("PATH", "/nonexistent", check, {3}), ("PATH", "/nonexistent", BASE["report"], {3}),
            ("PATH", "/nonexistent", BASE["dynamics rollout"] + ["--plot", "a.png"], {3}),
            ("PATH", "", BASE["info"], {0}),
            ("DM_ROMS", "missing", BASE["roms list"], {4}), ("DM_ROMS", "game.gb", BASE["roms list"], {4, 5}),
            ("DM_ROMS", "folder", BASE["roms build"], {4}),
            ("DM_NVRTC", "/no/such/library.so", ["kernel", "compile", "k.py", "--emit", "ptx"], {3}),
            ("DM_NVRTC", "game.gb", ["kernel", "compile", "k.py", "--emit", "ptx"], {3}),
            ("DM_LIBCUDA", "game.gb", BASE["info"], {0}), ("DM_LIBCUDA", "game.gb", swarm[:3] + [
                "--backend", "vec_cuda", "--envs", "1", "--steps", "1"], {3}),
            ("CUDA_VISIBLE_DEVICES", "bogus", BASE["info"], {0}),
            ("OMPI_COMM_WORLD_RANK", "many", BASE["synth produce"], {0}),
            ("SLURM_PROCID", "-4", BASE["synth produce"], {0}),
            ("COLUMNS", "-5", BASE["synth show"], {0}), ("COLUMNS", "99999999999", BASE["synth stats"], {0}),
            ("LC_ALL", "de_DE.UTF-8", BASE["dynamics rollout"], {0}), ("TZ", "bogus/zone", BASE["bench"], {0}),
            ("DM_PYTHON", "game.gb", ["verify", "--rom", "game.gb", "--ref-backend", "pyboy_single"], {3}),
            ("DM_PYTHON", "folder", ["verify", "--rom", "game.gb", "--ref-backend", "pyboy_single"], {3})):
        yield Row(f"{name}={short(value)} for {' '.join(args[:2])} {args[-1]}", args, codes, env={name: value},
                  diagnostics=codes != {5})


# Files of every format, and the call that reads one.
READERS = {
    "game.gb": "run --frames 1 --rom {}", "good.state": "run --rom game.gb --frames 1 --load {}",
    "keys.txt": "run --rom game.gb --frames 1 --input {}", "good.recorded": "verify --rom game.gb --recorded {}",
    "actions.txt": "verify --rom game.gb --ref-backend single --verify-steps 8 --actions-file {}",
    "bench.json": "report {} --out report", "x.npy": "kernel run k.py --dim 4 --arg a=2 --arg x={} --arg out=zeros:4",
    "k.py": "kernel list {}", "model.safetensors": "dynamics rollout --steps 2 --model {}",
    "losses.txt": "dynamics rollout --hidden 8 --members 1 --stochastic 1 --steps 2 --losses {}",
    "images.idx": "train data --labels labels.idx --images {}", "labels.idx": "train data --images images.idx --labels {}",
    "dataset/pairs-00000.jsonl": "synth validate --level none --in {}", "small.asm": "roms build {}",
}
# Text formats of lines: what is left after a cut may be a whole file.
LINES = {"keys.txt", "losses.txt", "k.py", "small.asm", "actions.txt", "game.gb"}


def rows_of_cut_files():
    """Each format cut at several places, with a byte changed, with more behind its end; see folder.py."""
    for name, text in READERS.items():
        for how in ("cut-1", "cut-16", "cut-third", "cut-last", "flipped", "longer", "twice", "crlf"):
            path = f"damaged/{how}/{name.replace('/', '-')}"
            codes = {1, 2, 4, 7}
            if name in LINES or how in ("flipped", "longer", "twice", "crlf", "cut-last"):
                codes |= {0}
            # What still reads may succeed: then it must have done so cleanly
            yield Row(f"{name} {how}", text.format(path).split(), codes, diagnostics=name in ("k.py", "small.asm"),
                      may_leave=("cut-1.gb",))


def rows_that_say_more():
    """Options beside others that make them void, and names that are two things at once."""
    def row(text, codes, message="", **more):
        return Row(text, text.split(" "), codes if isinstance(codes, set) else {codes}, message, **more)

    for text, message in (
            ("run --rom game.gb --trace-limit 5", "--trace-limit does nothing without --trace"),
            ("run --rom game.gb --png ./a --gif a", "both write"), ("run --rom game.gb --battery game.gb", "overwrite"),
            ("run --rom ./game.gb --save game.gb", "overwrite"), ("run --rom game.gb --start boot-rom", "--boot-rom"),
            ("run --rom game.gb --input keys.txt --png keys.txt", "overwrite"),
            ("verify --rom game.gb --roms folder", "--suite"), ("verify --rom game.gb --only X", "--suite"),
            ("verify --rom game.gb --actions-seed 4", "--action-gen"),
            ("verify --rom game.gb --record game.gb", "overwrite"),
            ("verify --suite wrong.json --verify-steps 5", "--verify-steps is for --rom"),
            ("verify --suite wrong.json --json", "--json is for --rom"),
            ("bench --rom game.gb --json --out a", "one of them"),
            ("train data --images images.idx --labels labels.idx --set digits", "--set is not for --images"),
            ("train data --set digits --classes 4", "--classes is for --images"),
            ("train agent --rom game.gb --reward reward.c --gif a.gif", "--gif does nothing without --play"),
            ("dynamics forecast curve.jsonl --device cpu:1", "--device is for"),
            ("train sweep sweep.json --out made --device tpu", "'tpu'"), ("bench --rom game.gb --out game.gb", "overwrite"),
            ("bench --rom game.gb --steps 4 --seconds 1", "one of them"),
            ("bench --rom game.gb --backends vec_cpu,", "empty place"),
            ("kernel compile k.py --out k.py", "overwrite the kernels, k.py"), ("kernel list k.py --out ./k.py", "overwrite"),
            ("kernel compile k.py --arch 90", "--emit ptx"), ("kernel compile k.py --emit ast --device cuda", "--emit"),
            ("kernel compile k.py --arg a=1", "is for run"), ("kernel list k.py --size 3", "is for check"),
            ("kernel check k.py --out x", "not for check"), ("kernel run k.py --emit ir", "is for compile"),
            ("kernel run k.py --bounds --no-bounds --dim 4", "exclude"), ("kernel list empty", "no kernels"),
            ("kernel compile k.py --kernel nope", "nope"), ("kernel chekc k.py", "did you mean check"),
            ("synth produce --out made --png a.png", "is for stats"), ("synth produce --out made --level run", "is for"),
            ("synth show dataset --json", "is for validate"), ("synth stats dataset --sample 4", "is for validate"),
            ("synth validate dataset --count 4", "is for produce"), ("synth produce", "--out"),
            ("synth produce --out made --ranks 4", "--rank"), ("synth stats empty", "no records"),
            ("synth stast dataset", "did you mean stats"),
            ("dynamics check --steps 4", "is for forecast and rollout"), ("dynamics rollout --quick", "is for bench"),
            ("dynamics bench --plot a.png", "is for forecast and rollout"), ("dynamics rollout --passes 4", "without --losses"),
            ("dynamics rollout --model model.safetensors --hidden 9", "--model loads one"),
            ("dynamics rollout --losses losses.txt --save losses.txt", "overwrite"),
            ("dynamics rollout --plot a.pdf", ".png"), ("dynamics rollot", "did you mean rollout"),
            ("dynamics bench --only encoder --out --quick", "--quick is an option"),
            ("run --rom game.gb --png --frames=2", "--frames=2 is an option"),
            ("roms build --json", "is for list and info"), ("roms info game.gb --out x", "is for build"),
            ("roms list --include folder", "not for list"), ("roms lits", "did you mean list"),
            ("info --jsno", "did you mean --json"), ("report bench.json --ouy x", "did you mean --out"),
            ("replay bundle --ref-backend nothing", "nothing")):
        yield row(text, {2, 4}, message)
    yield row("synth show dataset", 0)
    yield row("dynamics bench --quick --only encoder --out=--quick", 0, may_leave=("--quick",))
    yield row("replay bundle-no-actions", 1)
    for words in ("kernel run --help", "synth show -h", "help dynamics rollout", "help kernel", "run --help",
                  "roms --help", "help", "--help", "--version"):
        yield row(words, 0)


def actions_of(program):
    """Every command and action that --help lists, as the keys of BASE."""
    def listed(words, title):
        text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
        section = text.split(f"\n{title}:\n", 1)
        return re.findall(r"^  ([a-z]\S*)  ", section[1].split("\n\n", 1)[0], re.M) if len(section) == 2 else []

    for command in listed([], "commands"):
        if command != "help":
            yield from [f"{command} {action}" for action in listed([command], "actions")] or [command]


def untried(program):
    """What --help lists and BASE has no call for."""
    return [key for key in actions_of(program) if key not in BASE]


def make(program):
    """All rows, without doubles."""
    table, seen = [], set()
    for key, base in BASE.items():
        options = options_of(program, key)
        first = next((option for option in options if re.fullmatch(NUMBER, option.value)), None)
        fresh = list(rows_of_use(key, base, options)) + list(rows_of_positionals(key, base))
        for option in options:
            if option.name != "log-level":
                fresh += rows_of_values(key, base, option, option == first)
        table += fresh
    table += rows_by_hand()
    kept = []
    for row in table:
        if "\0".join(row.args) + row.stdout + str(row.env) + str(row.signal) not in seen:
            seen.add("\0".join(row.args) + row.stdout + str(row.env) + str(row.signal))
            kept.append(row)
    return kept
