#!/usr/bin/env python3
"""Verifies a sealed Culprit bundle with the standard library alone, as docs/bundle-format.md specifies it.

usage: verify.py CASE.bundle.zip|FOLDER [TRUSTED_KEYS [THRESHOLD]]
exit:  0 intact (and signed as asked for) · 1 not intact · 2 no bundle, or usage · 3 intact, and not signed as asked for
"""
import base64, hashlib, io, json, os, pathlib, re, struct, sys, zipfile, zlib

class Failed(Exception): pass  # a reason, and the exit code
def need(holds, reason, code=1):
    if not holds:
        raise Failed(reason, code)

def check_limits(sizes): need(len(sizes) <= 20_002 and max(sizes, default=0) <= 64 << 20 and sum(sizes) <= 2 << 30, "it holds more than a bundle may", 2)
def sha256(data): return hashlib.sha256(data).hexdigest()
def unbase64(text): return base64.b64decode(text.translate({45: 43, 95: 47}), validate=True)  # either alphabet

def canonical_zip(members):  # the one zip file of these (name, bytes): stored, in order, of 1980-01-01, mode 0644, nothing else in it
    body, directory = b"", b""
    for name, data in members:
        raw = name.encode()
        common = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(raw), 0)
        directory += b"PK\1\2" + struct.pack("<H", 3 << 8 | 20) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, len(body)) + raw
        body += b"PK\3\4" + common + raw + data
    return body + directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)

def read_bundle(path):
    if os.path.isdir(path):
        there = [p for p in pathlib.Path(path).rglob("*") if p.is_symlink() or not p.is_dir()]
        need(all(p.is_file() and not p.is_symlink() for p in there), "it holds what is no file")
        check_limits([p.stat().st_size for p in there])
        return {p.relative_to(path).as_posix(): p.read_bytes() for p in there}, False
    whole = open(path, "rb").read()
    with zipfile.ZipFile(io.BytesIO(whole)) as z:
        check_limits([i.file_size for i in z.infolist()])
        infos = [i for i in z.infolist() if i.file_size or not i.is_dir()]  # folders hold nothing
        members = [(i.filename, z.read(i)) for i in infos]
    packed, names, n = any(i.compress_type for i in infos), [i.filename for i in infos], len(z.infolist())  # packed by another program
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, n, n, len(whole) - 22 - z.start_dir, z.start_dir, 0)
    plain = all(i.external_attr >> 28 in (0, 8) and i.file_size <= 1032 * i.compress_size for i in infos) and len(set(names)) == len(names)
    one_form = packed and min(i.header_offset for i in z.infolist()) == 0 or names == sorted(names, key=str.encode) and canonical_zip(members) == whole
    need(whole[-22:] == end and plain and one_form, "it is not in the one form of a bundle", 2)
    return dict(members), packed

def check_seal(files):
    manifest = json.loads(files.get("manifest.json") or need(False, "it holds no manifest.json", 2))
    need(manifest["schema"] == "culprit.bundle/v1", "manifest.json is of schema %r" % manifest["schema"])
    need(json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == files["manifest.json"], "manifest.json is not canonical")
    withheld = {f["path"] for f in manifest["files"] if f.get("restricted")} - set(files)  # a redacted copy lacks them
    sums, differ = "", ({f["path"] for f in manifest["files"]} - withheld | {"manifest.json", "SHA256SUMS"}) ^ set(files)
    need(not differ, "listed, or there, but not both: %s" % sorted(differ))
    for f in manifest["files"]:
        sums += "%s  %s\n" % (f["sha256"], f["path"])
        unit, place = (256, "restricted/sha256/") if f.get("restricted") else (1, "blobs/sha256/%.2s/" % f["sha256"])
        data, named = files.get(f["path"], b""), f["path"].split("/")[0] in ("blobs", "restricted")
        need(not named or f["path"] == place + f["sha256"], "%s is not a name of its content" % f["path"])
        need(f["path"] in withheld or (-(-len(data) // unit) * unit, sha256(data)) == (f["size"], f["sha256"]), "%s is not the file that was sealed" % f["path"])
    need(files["SHA256SUMS"] == (sums + "%s  manifest.json\n" % sha256(files["manifest.json"])).encode(), "SHA256SUMS lists other files or sums than manifest.json")
    for name, path in {"case": "case/resolved.json", "pins": "pins.json", "plan": "plan.json", "evaluation": "evaluation.json"}.items():
        need(manifest["digests"][name] == "sha256:" + sha256(files[path]), "digest of %s differs" % path)
    return manifest

def check_journal(data, end):
    prev, seq = "0" * 64, 0
    for seq, line in enumerate(data.splitlines(keepends=True), 1):
        head, tail = b'{"seq":%d,"prev":"%s","rec":' % (seq, prev.encode()), b',"sum":"%s"}\n'
        rec = line[len(head):-(len(tail) - 2 + 64)]
        prev = sha256(b"%d|%s|%s" % (seq, prev.encode(), rec))
        need(line == head + rec + tail % prev.encode(), "line %d of the journal does not follow the one before" % seq)
    need((prev, seq) == (end["head"], end["records"]), "the journal does not end as it was sealed")

# Ed25519 as in RFC 8032, 5.1. A point of the curve is (X, Y, Z, T): x = X/Z, y = Y/Z, xy = T/Z.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

def add(p, q):
    a, b, c, d = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0]), 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P

def multiply(n, p):
    q = 0, 1, 1, 0
    while n:
        q, p, n = add(q, p) if n & 1 else q, add(p, p), n >> 1
    return q

def encode(p):
    z = pow(p[2], P - 2, P)
    return (p[1] * z % P | (p[0] * z % P & 1) << 255).to_bytes(32, "little")

def decode(data):
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    x = x if x * x % P == xx else x * pow(2, (P - 1) // 4, P) % P
    x = x if x & 1 == data[31] >> 7 else P - x
    need(encode((x, y, 1, x * y)) == data and x * x % P == xx, "a trusted key is no point of the curve", 2)
    return x, y, 1, x * y % P

def signed_by(key, message, signature):
    r, s, (x, y, z, t) = signature[:32], int.from_bytes(signature[32:], "little"), decode(key)
    h = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L
    base = decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    return s < L and encode(add(multiply(s, base), multiply(h, (P - x, y, z, P - t)))) == r

def read_keys(path):
    text = open(path).read()
    found = re.findall(r"-----BEGIN PUBLIC KEY-----(.*?)-----END PUBLIC KEY-----", text, re.S)
    lines = [re.fullmatch(r'(?:(?!cert-authority\s)[^\s#="]+\s+)?ssh-ed25519\s+(\S+).*', line.strip()) for line in text.splitlines()]
    keys = {base64.b64decode(block)[-44:] for block in found} | {base64.b64decode(line.group(1)) for line in lines if line}
    return {k[-32:] for k in keys if k[:-32] in (bytes.fromhex("302a300506032b6570032100"), b"\0\0\0\x0bssh-ed25519\0\0\0\x20")}

def count_signers(envelope, files, manifest, keys):
    kind, payload = envelope["payloadType"], unbase64(envelope["payload"])
    need(kind == "application/vnd.in-toto+json", "the payload is of type %r" % kind, 3)
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    signatures = [unbase64(s["sig"]) for s in envelope["signatures"]]
    signers = sum(any(signed_by(k, message, s) for s in signatures) for k in keys)
    need(signers, "no trusted key signed it", 3)
    statement = json.loads(payload)  # verified, and not read before
    subject = [{"name": manifest["case_id"], "digest": {"sha256": sha256(files["manifest.json"])}}]
    need(statement["_type"] == "https://in-toto.io/Statement/v1" and statement["subject"] == subject, "another bundle was signed", 3)
    need(statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1", "something else was signed", 3)
    return signers

def main(path, trusted=None, threshold="1", code=2):
    try:
        keys, threshold, (files, packed) = read_keys(trusted) if trusted else None, int(threshold), read_bundle(path)
        code = 1
        manifest = check_seal(files)
        check_journal(files["journal.jsonl"], manifest["journal"])
        print("intact: case %s, %d files, %d records%s" % (manifest["case_id"], len(files) - 2, manifest["journal"]["records"], ", packed again" * packed))
        code = 3
        if trusted:
            beside = re.sub(r"(\.zip)?/*$", ".zip.dsse.json", path, count=1)
            need(os.path.exists(beside), "it has no signature", 3)
            signers = count_signers(json.load(open(beside)), files, manifest, keys)
            print("signed by %d of %d trusted keys" % (signers, len(keys)))
            need(signers >= threshold, "%d are asked for" % threshold, 3)
    except Failed as e:
        return e.args
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, KeyError, TypeError, ValueError, AttributeError) as e:
        return "%s: %s" % (type(e).__name__, e), 1 if "CRC-32" in str(e) else code  # a byte of a file was changed
    return "", 0

if __name__ == "__main__":
    why, status = main(*sys.argv[1:]) if 2 <= len(sys.argv) <= 4 else (__doc__, 2)
    print(why, file=sys.stderr, end="\n" if why else "")
    sys.exit(status)
