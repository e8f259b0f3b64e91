public import OIDCCore
