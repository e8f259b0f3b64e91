import Foundation

/// Which of the settings m, a, t, s, r, c of a layer reach the server https://op.example and its client "app".
///
/// m is a setting of the machine, a of anyone, t of a token's audience, s of a server, r of a token request, and c the
/// client's secret; a dot stands for one that does not reach it. The layer names an issuer, a token endpoint and a
/// client: - none, = those in use, # others. Below the variables is a profile that names an issuer and a client.
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
        profile   - - - - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | matsrc | matsrc | m..... | asks | yyy
        profile   - - = - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | matsrc | matsrc | m..... | asks | yyy
        profile   - - # - | matsrc matsrc matsr. matsr. |        | matsrc | matsr. | ma.sr. | matsr. | ...... | ...... | matsr. | matsrc | m..... | none | yyy
        profile   - = - - | matsrc matsrc matsrc matsrc |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   - = = - | matsrc matsrc matsrc matsrc |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   - = # - | matsrc matsrc matsr. matsr. |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   - # - - | mat... mat... matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   - # = - | mat... mat... matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   - # # - | mat... mat... matsr. mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   = - - - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | mats.. | matsrc | m..... | sent | yyy
        profile   = - = - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | mats.. | matsrc | matsrc | sent | yyy
        profile   = - # - | matsrc matsrc matsr. matsr. |        | matsrc | matsr. | ma.sr. | matsr. | ...... | ...... | mats.. | matsrc | m..... | none | yyy
        profile   = = - - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | mats.. | matsrc | m..... | sent | yyy
        profile   = = = - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | mats.. | matsrc | matsrc | sent | yyy
        profile   = = # - | matsrc matsrc matsr. matsr. |        | matsrc | matsr. | ma.sr. | matsr. | ...... | ...... | mats.. | matsrc | m..... | none | yyy
        profile   = # - - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | mats.. | matsrc | m..... | sent | yyy
        profile   = # = - | matsrc matsrc matsrc matsrc |        | matsrc | matsrc | ma.src | matsr. | ...... | ...... | mats.. | matsrc | matsrc | sent | yyy
        profile   = # # - | matsrc matsrc matsr. matsr. |        | matsrc | matsr. | ma.sr. | matsr. | ...... | ...... | mats.. | matsrc | m..... | none | yyy
        profile   # - - - | mat... mats.. matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # - = - | mat... mats.. matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # - # - | mat... mats.. matsr. mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # = - - | mat... matsrc matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # = = - | mat... matsrc matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # = # - | mat... matsrc matsr. mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # # - - | mat... mats.. matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # # = - | mat... mats.. matsrc mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        profile   # # # - | mat... mats.. matsr. mat... |        | m..... | m..... | m..... | m..... | ...... | ...... | m..... | matsrc | m..... | none | yyy
        variables - - - - | matsrc matsrc matsrc matsrc | mat... | matsrc | matsrc | ma.src | matsr. | mat... | matsrc | matsrc | matsrc | m..... | asks | yyy
        variables - - = - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | mat... | matsrc | matsrc | matsrc | m..... | asks | yyy
        variables - - # - | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | mat... | matsr. | matsr. | matsrc | m..... | none | ynn
        variables - = - - | matsrc matsrc matsrc matsrc | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - = = - | matsrc matsrc matsrc matsrc | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - = # - | matsrc matsrc matsr. matsr. | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # - - | mat... mat... matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # = - | mat... mat... matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # # - | mat... mat... matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables = - - - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | m..... | sent | yyy
        variables = - = - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = - # - | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables = = - - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | m..... | sent | yyy
        variables = = = - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = = # - | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables = # - - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | m..... | sent | yyy
        variables = # = - | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = # # - | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables # - - - | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # - = - | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # - # - | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = - - | mat... matsrc matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = = - | mat... matsrc matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = # - | mat... matsrc matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # - - | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # = - | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # # - | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - - - = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables - - = = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables - - # = | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables - = - = | matsrc matsrc matsrc matsrc | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | matsrc | none | yyy
        variables - = = = | matsrc matsrc matsrc matsrc | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | matsrc | none | yyy
        variables - = # = | matsrc matsrc matsr. matsr. | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # - = | matsrc matsrc matsrc matsrc | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | matsrc | none | yyy
        variables - # = = | matsrc matsrc matsrc matsrc | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | matsrc | none | yyy
        variables - # # = | matsrc matsrc matsr. matsr. | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables = - - = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = - = = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = - # = | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables = = - = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = = = = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = = # = | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables = # - = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = # = = | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = # # = | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables # - - = | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # - = = | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # - # = | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = - = | mat... matsrc matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = = = | mat... matsrc matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = # = | mat... matsrc matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # - = | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # = = | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # # = | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - - - # | mat... mats.. matsr. mat... | mat... | m..... | m..... | m..... | m..... | mat... | mat... | m..... | matsrc | m..... | none | yyy
        variables - - = # | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | mat... | mat... | m..... | matsrc | m..... | none | yyy
        variables - - # # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | mat... | mat... | m..... | matsrc | m..... | none | yyy
        variables - = - # | mat... matsrc matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - = = # | mat... matsrc matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - = # # | mat... matsrc matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # - # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # = # | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables - # # # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables = - - # | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | m..... | sent | yyy
        variables = - = # | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = - # # | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables = = - # | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | m..... | sent | yyy
        variables = = = # | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = = # # | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables = # - # | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | m..... | sent | yyy
        variables = # = # | matsrc matsrc matsrc matsrc | matsrc | matsrc | matsrc | ma.src | matsr. | matsrc | matsrc | mats.. | matsrc | matsrc | sent | yyy
        variables = # # # | matsrc matsrc matsr. matsr. | matsrc | matsrc | matsr. | ma.sr. | matsr. | matsr. | matsr. | mats.. | matsrc | m..... | none | ynn
        variables # - - # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # - = # | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # - # # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = - # | mat... matsrc matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = = # | mat... matsrc matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # = # # | mat... matsrc matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # - # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # = # | mat... mats.. matsrc mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        variables # # # # | mat... mats.. matsr. mat... | matsrc | m..... | m..... | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | none | yyy
        options   - - - - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | yyy
        options   - - = - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | yyy
        options   - - # - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | nnn
        options   - = - - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | yyy
        options   - = = - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | yyy
        options   - = # - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | nnn
        options   - # - - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | yyy
        options   - # = - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | yyy
        options   - # # - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | mat... | m..... | asks | nnn
        options   = - - - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | m..... | sent | yyy
        options   = - = - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | matsrc | sent | yyy
        options   = - # - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | m..... | sent | nnn
        options   = = - - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | m..... | sent | yyy
        options   = = = - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | matsrc | sent | yyy
        options   = = # - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | m..... | sent | nnn
        options   = # - - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | m..... | sent | yyy
        options   = # = - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | matsrc | sent | yyy
        options   = # # - |                             |        | matsrc | matsrc | matsrc | matsr. | matsrc | matsrc | matsrc | matsrc | m..... | sent | nnn
        options   # - - - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # - = - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # - # - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # = - - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # = = - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # = # - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # # - - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # # = - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
        options   # # # - |                             |        | m..... | m..... | m..... | m..... | m..... | matsrc | m..... | matsrc | m..... | none | nny
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
