"""Finds files in installed packages without importing them."""
import importlib.util
import pathlib


def file_of(package, *parts):
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit("the package %s is not installed" % package)
    path = pathlib.Path(spec.origin).parent.joinpath(*parts)
    if path.exists():
        return path
    found = sorted(pathlib.Path(spec.origin).parent.rglob(parts[-1]))
    if not found:
        raise SystemExit("the package %s holds no %s" % (package, parts[-1]))
    return found[0]
