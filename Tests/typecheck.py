"""What the checks of other machines' code share: the targets of the package, and the words of a compiler."""
import json, pathlib, subprocess

root = pathlib.Path(__file__).resolve().parent.parent


def output(*command):
    """What a compiler says, apart from the names of the places where it found no library for Linux."""
    run = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = [line for line in run.stdout.splitlines() if "warning: libc not found for" not in line]
    said = "\n".join(lines).strip()
    return said or ("" if run.returncode == 0 else f"{command[0]} ended with {run.returncode}")


def targets():
    """The name of each target of Sources, after those that it uses, with the options of its features."""
    package = json.loads(
        subprocess.run(["swift", "package", "dump-package"], cwd=root, check=True, capture_output=True).stdout)
    for target in package["targets"]:
        if target["type"] in ("regular", "executable") and not target.get("path"):
            features = [setting["kind"]["enableUpcomingFeature"]["_0"] for setting in target["settings"]
                        if "enableUpcomingFeature" in setting["kind"]]
            yield target["name"], [word for name in features for word in ("-enable-upcoming-feature", name)]


def own_library():
    """The directory of the compiler's own modules."""
    target = json.loads(subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True).stdout)
    return pathlib.Path(target["paths"]["runtimeResourcePath"])


def write_map(modules, name):
    """Makes the headers of a C target a module. Returns their directory."""
    include = root / "Sources" / name / "include"
    (modules / name).mkdir()
    (modules / name / "module.modulemap").write_text(f'module {name} {{ header "{include}/{name}.h" export * }}\n')
    return include


def maps(modules):
    return [word for folder in sorted(modules.iterdir()) if folder.is_dir() for word in ("-I", str(folder))]
