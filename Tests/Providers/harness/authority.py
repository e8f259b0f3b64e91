"""A private certificate authority, a certificate for every host, and the keys that sign ID tokens."""

import base64
import datetime
import hashlib
import json
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.x509.oid import NameOID


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(value, size):
    return encoded(value.to_bytes(size, "big"))


class Authority:
    """Signs one certificate that names all hosts."""

    def __init__(self, folder, hosts):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "authority.pem"
        key, leaf_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stand-ins")])
        ca = self._builder(name, name, key).add_extension(x509.BasicConstraints(True, 0), True)
        ca = ca.sign(key, hashes.SHA256())
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in sorted(hosts)])
        leaf = self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")]), name, leaf_key)
        leaf = leaf.add_extension(names, False).sign(key, hashes.SHA256())
        self.file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
        chain = folder / "leaf.pem"
        chain.write_bytes(leaf.public_bytes(serialization.Encoding.PEM) + pem(leaf_key))
        chain.chmod(0o600)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(chain)
        self.client = ssl.create_default_context(cafile=self.file)

    @staticmethod
    def _builder(subject, issuer, key):
        now = datetime.datetime.utcnow()
        return (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
                .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
                .not_valid_after(now + datetime.timedelta(days=1)))


def pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


class SigningKey:
    """A key of a key set, with the algorithm it is for."""

    CURVES = {"ES256": (ec.SECP256R1, "P-256", 32, hashes.SHA256), "ES384": (ec.SECP384R1, "P-384", 48, hashes.SHA384)}

    def __init__(self, algorithm):
        self.algorithm, self.identifier = algorithm, f"{algorithm.lower()}-1"
        if algorithm in self.CURVES:
            self.key = ec.generate_private_key(self.CURVES[algorithm][0]())
        else:
            self.key = rsa.generate_private_key(65537, 2048)

    def public(self):
        common = {"kid": self.identifier, "use": "sig", "alg": self.algorithm}
        numbers = self.key.public_key().public_numbers()
        if self.algorithm in self.CURVES:
            _, curve, size, _ = self.CURVES[self.algorithm]
            return {"kty": "EC", "crv": curve, "x": number(numbers.x, size), "y": number(numbers.y, size), **common}
        return {"kty": "RSA", "n": number(numbers.n, 256), "e": "AQAB", **common}

    def sign(self, claims):
        header = {"alg": self.algorithm, "kid": self.identifier, "typ": "JWT"}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
        if self.algorithm in self.CURVES:
            _, _, size, digest = self.CURVES[self.algorithm]
            r, s = utils.decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(digest())))
            return f"{text}.{encoded(r.to_bytes(size, 'big') + s.to_bytes(size, 'big'))}"
        return f"{text}.{encoded(self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def half_hash(self, text):
        """`at_hash` of a token (OpenID Connect Core §3.1.3.6)."""
        digest = hashlib.new("sha" + self.algorithm[2:], text.encode()).digest()
        return encoded(digest[: len(digest) // 2])


def es256_claims(token, key_file):
    """The claims of an assertion that the key in that file signed with ES256; None if it did not."""
    from cryptography.exceptions import InvalidSignature
    try:
        head, body, signature = token.split(".")
        raw = decoded(signature)
        key = serialization.load_pem_private_key(Path(key_file).read_bytes(), None).public_key()
        r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        key.verify(utils.encode_dss_signature(r, s), f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
        header = json.loads(decoded(head))
        return json.loads(decoded(body)) if header["alg"] == "ES256" else None
    except (ValueError, KeyError, InvalidSignature):
        return None
