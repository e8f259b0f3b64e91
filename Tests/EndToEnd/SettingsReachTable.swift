import Foundation

/// Which of the settings m, a, q, t, s, r, c of a layer reach the server https://op.example and its client "app".
///
/// m is a setting of the machine, a of anyone, q of what a sign-in asks, t of a token's audience, s of a server, r of a
/// token request, and c the client's secret; a dot stands for one that does not reach it. The layer names an issuer, a
/// token endpoint and a client: - none, = those in use, # others. Below the variables is a profile that names an issuer
/// and a client.
///
///     layer     issuer, endpoint, client, below
///     | an option names the issuer, the token endpoint, the client, or all of them
///     | -p names a profile of the issuer and client, and OIDC_PROFILE the one below
///     | a resource's server
///     | a link of the user's own client | of a resource outside the origins of the settings
///     | of a registered client | of another profile's
///     | of another profile's, if an option names the issuer
///     | of the user's own client, if an option names a token endpoint elsewhere
///     | the user's own provider, for id_jag
///     | a session of the issuer and client that is known
///     | whether the secret is sent to the link's server: sent, none, or asks first
///     | whether a link fits the settings: of a user's grant, of the client's own, of id_jag
enum SettingsReachTable {
    static let text = """
        profile   - - - - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqtsrc | maqtsrc | m...... | asks | yyy
        profile   - - = - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqtsrc | maqtsrc | m...... | asks | yyy
        profile   - - # - | maqtsrc maqtsrc maqtsr. maqtsr. |        | maqtsrc | maqtsr. | maq.sr. | maqtsr. | ....... | ....... | maqtsr. | maqtsrc | m...... | none | yyy
        profile   - = - - | maqtsrc maqtsrc maqtsrc maqtsrc |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   - = = - | maqtsrc maqtsrc maqtsrc maqtsrc |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   - = # - | maqtsrc maqtsrc maqtsr. maqtsr. |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   - # - - | ma..... ma..... maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   - # = - | ma..... ma..... maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   - # # - | ma..... ma..... maqtsr. ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   = - - - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqts.. | maqtsrc | m...... | sent | yyy
        profile   = - = - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqts.. | maqtsrc | maqtsrc | sent | yyy
        profile   = - # - | maqtsrc maqtsrc maqtsr. maqtsr. |        | maqtsrc | maqtsr. | maq.sr. | maqtsr. | ....... | ....... | maqts.. | maqtsrc | m...... | none | yyy
        profile   = = - - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqts.. | maqtsrc | m...... | sent | yyy
        profile   = = = - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqts.. | maqtsrc | maqtsrc | sent | yyy
        profile   = = # - | maqtsrc maqtsrc maqtsr. maqtsr. |        | maqtsrc | maqtsr. | maq.sr. | maqtsr. | ....... | ....... | maqts.. | maqtsrc | m...... | none | yyy
        profile   = # - - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqts.. | maqtsrc | m...... | sent | yyy
        profile   = # = - | maqtsrc maqtsrc maqtsrc maqtsrc |        | maqtsrc | maqtsrc | maq.src | maqtsr. | ....... | ....... | maqts.. | maqtsrc | maqtsrc | sent | yyy
        profile   = # # - | maqtsrc maqtsrc maqtsr. maqtsr. |        | maqtsrc | maqtsr. | maq.sr. | maqtsr. | ....... | ....... | maqts.. | maqtsrc | m...... | none | yyy
        profile   # - - - | ma..... maqts.. maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # - = - | ma..... maqts.. maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # - # - | ma..... maqts.. maqtsr. ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # = - - | ma..... maqtsrc maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # = = - | ma..... maqtsrc maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # = # - | ma..... maqtsrc maqtsr. ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # # - - | ma..... maqts.. maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # # = - | ma..... maqts.. maqtsrc ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        profile   # # # - | ma..... maqts.. maqtsr. ma..... |        | m...... | m...... | m...... | m...... | ....... | ....... | m...... | maqtsrc | m...... | none | yyy
        variables - - - - | maqtsrc maqtsrc maqtsrc maqtsrc | maqt... | maqtsrc | maqtsrc | maq.src | maqtsr. | maqt... | maqtsrc | maqtsrc | maqtsrc | m...... | asks | yyy
        variables - - = - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqt... | maqtsrc | maqtsrc | maqtsrc | m...... | asks | yyy
        variables - - # - | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqt... | maqtsr. | maqtsr. | maqtsrc | m...... | none | ynn
        variables - = - - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - = = - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - = # - | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # - - | maqt... maqt... maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # = - | maqt... maqt... maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # # - | maqt... maqt... maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables = - - - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | m...... | sent | yyy
        variables = - = - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = - # - | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables = = - - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | m...... | sent | yyy
        variables = = = - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = = # - | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables = # - - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | m...... | sent | yyy
        variables = # = - | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = # # - | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables # - - - | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # - = - | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # - # - | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = - - | maqt... maqtsrc maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = = - | maqt... maqtsrc maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = # - | maqt... maqtsrc maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # - - | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # = - | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # # - | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - - - = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables - - = = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables - - # = | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables - = - = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | maqtsrc | none | yyy
        variables - = = = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | maqtsrc | none | yyy
        variables - = # = | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # - = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | maqtsrc | none | yyy
        variables - # = = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | maqtsrc | none | yyy
        variables - # # = | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables = - - = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = - = = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = - # = | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables = = - = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = = = = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = = # = | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables = # - = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = # = = | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = # # = | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables # - - = | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # - = = | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # - # = | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = - = | maqt... maqtsrc maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = = = | maqt... maqtsrc maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = # = | maqt... maqtsrc maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # - = | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # = = | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # # = | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - - - # | maqt... maqts.. maqtsr. maqt... | maqt... | m...... | m...... | m...... | m...... | maqt... | maqt... | m...... | maqtsrc | m...... | none | yyy
        variables - - = # | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | maqt... | maqt... | m...... | maqtsrc | m...... | none | yyy
        variables - - # # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | maqt... | maqt... | m...... | maqtsrc | m...... | none | yyy
        variables - = - # | maqt... maqtsrc maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - = = # | maqt... maqtsrc maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - = # # | maqt... maqtsrc maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # - # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # = # | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables - # # # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables = - - # | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | m...... | sent | yyy
        variables = - = # | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = - # # | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables = = - # | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | m...... | sent | yyy
        variables = = = # | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = = # # | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables = # - # | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | m...... | sent | yyy
        variables = # = # | maqtsrc maqtsrc maqtsrc maqtsrc | maqtsrc | maqtsrc | maqtsrc | maq.src | maqtsr. | maqtsrc | maqtsrc | maqts.. | maqtsrc | maqtsrc | sent | yyy
        variables = # # # | maqtsrc maqtsrc maqtsr. maqtsr. | maqtsrc | maqtsrc | maqtsr. | maq.sr. | maqtsr. | maqtsr. | maqtsr. | maqts.. | maqtsrc | m...... | none | ynn
        variables # - - # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # - = # | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # - # # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = - # | maqt... maqtsrc maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = = # | maqt... maqtsrc maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # = # # | maqt... maqtsrc maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # - # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # = # | maqt... maqts.. maqtsrc maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        variables # # # # | maqt... maqts.. maqtsr. maqt... | maqtsrc | m...... | m...... | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | none | yyy
        options   - - - - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | yyy
        options   - - = - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | yyy
        options   - - # - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | nnn
        options   - = - - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | yyy
        options   - = = - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | yyy
        options   - = # - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | nnn
        options   - # - - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | yyy
        options   - # = - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | yyy
        options   - # # - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqt... | m...... | asks | nnn
        options   = - - - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | m...... | sent | yyy
        options   = - = - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | maqtsrc | sent | yyy
        options   = - # - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | m...... | sent | nnn
        options   = = - - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | m...... | sent | yyy
        options   = = = - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | maqtsrc | sent | yyy
        options   = = # - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | m...... | sent | nnn
        options   = # - - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | m...... | sent | yyy
        options   = # = - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | maqtsrc | sent | yyy
        options   = # # - |                             |        | maqtsrc | maqtsrc | maqtsrc | maqtsr. | maqtsrc | maqtsrc | maqtsrc | maqtsrc | m...... | sent | nnn
        options   # - - - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # - = - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # - # - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # = - - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # = = - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # = # - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # # - - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # # = - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        options   # # # - |                             |        | m...... | m...... | m...... | m...... | m...... | maqtsrc | m...... | maqtsrc | m...... | none | nny
        """

    /// Writes the rows into this file.
    static func write(_ rows: [String]) throws {
        let file = URL(fileURLWithPath: #filePath)
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let marks = lines.indices.filter { lines[$0].hasSuffix("\"\"\"") }
        let text = lines[...marks[0]] + rows.map { "        \($0)"[...] } + lines[marks[1]...]
        try text.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    }
}
