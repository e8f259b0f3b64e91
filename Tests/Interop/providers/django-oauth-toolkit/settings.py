"""The smallest Django project that is an OpenID provider: the toolkit's own URLs, and the admin's login page."""

import os
from pathlib import Path
from urllib.parse import urlsplit

STATE = Path(os.environ["INTEROP_STATE"])
ORIGIN = os.environ["INTEROP_ORIGIN"]

SECRET_KEY = "for these tests only"
DEBUG = False
ALLOWED_HOSTS = [urlsplit(ORIGIN).hostname]
ROOT_URLCONF = "urls"
WSGI_APPLICATION = None
USE_TZ = True
LOGIN_URL = "/admin/login/"
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3", "NAME": STATE / "db.sqlite3",
    "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"}}}
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    "django.contrib.messages", "django.contrib.staticfiles", "oauth2_provider"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware"]
LOGGING = {
    "version": 1, "disable_existing_loggers": False, "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"django": {"handlers": ["console"], "level": "ERROR"}}}
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages"]}}]
OAUTH2_PROVIDER = {
    "OIDC_ENABLED": True,
    "OIDC_ISS_ENDPOINT": f"{ORIGIN}/o",
    "OIDC_RSA_PRIVATE_KEY": (STATE / "key.pem").read_text() if (STATE / "key.pem").exists() else "",
    "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
    "OAUTH2_VALIDATOR_CLASS": "claims.Validator",
    "OAUTH_DEVICE_VERIFICATION_URI": f"{ORIGIN}/o/device/",
    "OAUTH_DEVICE_VERIFICATION_URI_COMPLETE": lambda code: f"{ORIGIN}/o/device/?user_code={code}",
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
    "SCOPES": {
        "openid": "who you are", "profile": "your name", "email": "your address",
        "introspection": "looking at tokens"},
    "DEFAULT_SCOPES": ["openid"],
}
