import Foundation

/// Which of the settings m, a, s, r, c of a layer reach the server https://op.example and its client "app".
///
/// m is a setting of the machine, a of anyone, s of a server, r of a token request, and c the client's secret; a
/// dot stands for one that does not reach it. The layer names an issuer, a token endpoint and a client: - none, = those
/// in use, # others. Below the variables is a profile that names an issuer and a client.
///
///     layer     issuer, endpoint, client, below
///     | an option names the issuer, the token endpoint, the client, or all of them
///     | -p names a profile of the issuer and client, and OIDC_PROFILE the one below
///     | a resource's server
///     | a link of the user's own client | of a registered one | of another profile's
///     | of another profile's, if an option names the issuer
///     | of the user's own client, if an option names a token endpoint elsewhere
///     | the user's own provider, for id_jag
///     | a session of the issuer and client that is known
///     | whether the secret is sent to the link's server: sent, none, or asks first
///     | whether a link fits the settings: of a user's grant, of the client's own, of id_jag
enum SettingsReachTable {
    static let text = """
        profile   - - - - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | masrc | masrc | m.... | asks | yyy
        profile   - - = - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | masrc | masrc | m.... | asks | yyy
        profile   - - # - | masrc masrc masr. masr. |       | masrc | masr. | masr. | ..... | ..... | masr. | masrc | m.... | none | yyy
        profile   - = - - | masrc masrc masrc masrc |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   - = = - | masrc masrc masrc masrc |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   - = # - | masrc masrc masr. masr. |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   - # - - | ma... ma... masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   - # = - | ma... ma... masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   - # # - | ma... ma... masr. ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   = - - - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | mas.. | masrc | m.... | sent | yyy
        profile   = - = - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | mas.. | masrc | masrc | sent | yyy
        profile   = - # - | masrc masrc masr. masr. |       | masrc | masr. | masr. | ..... | ..... | mas.. | masrc | m.... | none | yyy
        profile   = = - - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | mas.. | masrc | m.... | sent | yyy
        profile   = = = - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | mas.. | masrc | masrc | sent | yyy
        profile   = = # - | masrc masrc masr. masr. |       | masrc | masr. | masr. | ..... | ..... | mas.. | masrc | m.... | none | yyy
        profile   = # - - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | mas.. | masrc | m.... | sent | yyy
        profile   = # = - | masrc masrc masrc masrc |       | masrc | masrc | masr. | ..... | ..... | mas.. | masrc | masrc | sent | yyy
        profile   = # # - | masrc masrc masr. masr. |       | masrc | masr. | masr. | ..... | ..... | mas.. | masrc | m.... | none | yyy
        profile   # - - - | ma... mas.. masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # - = - | ma... mas.. masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # - # - | ma... mas.. masr. ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # = - - | ma... masrc masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # = = - | ma... masrc masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # = # - | ma... masrc masr. ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # # - - | ma... mas.. masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # # = - | ma... mas.. masrc ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        profile   # # # - | ma... mas.. masr. ma... |       | m.... | m.... | m.... | ..... | ..... | m.... | masrc | m.... | none | yyy
        variables - - - - | masrc masrc masrc masrc | ma... | masrc | masrc | masr. | ma... | masrc | masrc | masrc | m.... | asks | yyy
        variables - - = - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | ma... | masrc | masrc | masrc | m.... | asks | yyy
        variables - - # - | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | ma... | masr. | masr. | masrc | m.... | none | ynn
        variables - = - - | masrc masrc masrc masrc | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - = = - | masrc masrc masrc masrc | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - = # - | masrc masrc masr. masr. | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # - - | ma... ma... masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # = - | ma... ma... masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # # - | ma... ma... masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables = - - - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | m.... | sent | yyy
        variables = - = - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = - # - | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables = = - - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | m.... | sent | yyy
        variables = = = - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = = # - | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables = # - - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | m.... | sent | yyy
        variables = # = - | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = # # - | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables # - - - | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # - = - | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # - # - | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = - - | ma... masrc masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = = - | ma... masrc masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = # - | ma... masrc masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # - - | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # = - | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # # - | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - - - = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables - - = = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables - - # = | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables - = - = | masrc masrc masrc masrc | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | masrc | none | yyy
        variables - = = = | masrc masrc masrc masrc | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | masrc | none | yyy
        variables - = # = | masrc masrc masr. masr. | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # - = | masrc masrc masrc masrc | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | masrc | none | yyy
        variables - # = = | masrc masrc masrc masrc | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | masrc | none | yyy
        variables - # # = | masrc masrc masr. masr. | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables = - - = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = - = = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = - # = | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables = = - = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = = = = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = = # = | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables = # - = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = # = = | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = # # = | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables # - - = | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # - = = | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # - # = | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = - = | ma... masrc masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = = = | ma... masrc masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = # = | ma... masrc masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # - = | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # = = | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # # = | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - - - # | ma... mas.. masr. ma... | ma... | m.... | m.... | m.... | ma... | ma... | m.... | masrc | m.... | none | yyy
        variables - - = # | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | ma... | ma... | m.... | masrc | m.... | none | yyy
        variables - - # # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | ma... | ma... | m.... | masrc | m.... | none | yyy
        variables - = - # | ma... masrc masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - = = # | ma... masrc masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - = # # | ma... masrc masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # - # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # = # | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables - # # # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables = - - # | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | m.... | sent | yyy
        variables = - = # | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = - # # | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables = = - # | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | m.... | sent | yyy
        variables = = = # | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = = # # | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables = # - # | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | m.... | sent | yyy
        variables = # = # | masrc masrc masrc masrc | masrc | masrc | masrc | masr. | masrc | masrc | mas.. | masrc | masrc | sent | yyy
        variables = # # # | masrc masrc masr. masr. | masrc | masrc | masr. | masr. | masr. | masr. | mas.. | masrc | m.... | none | ynn
        variables # - - # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # - = # | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # - # # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = - # | ma... masrc masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = = # | ma... masrc masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # = # # | ma... masrc masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # - # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # = # | ma... mas.. masrc ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        variables # # # # | ma... mas.. masr. ma... | masrc | m.... | m.... | m.... | m.... | m.... | m.... | masrc | m.... | none | yyy
        options   - - - - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | yyy
        options   - - = - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | yyy
        options   - - # - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | nnn
        options   - = - - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | yyy
        options   - = = - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | yyy
        options   - = # - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | nnn
        options   - # - - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | yyy
        options   - # = - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | yyy
        options   - # # - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | ma... | m.... | asks | nnn
        options   = - - - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | m.... | sent | yyy
        options   = - = - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | masrc | sent | yyy
        options   = - # - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | m.... | sent | nnn
        options   = = - - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | m.... | sent | yyy
        options   = = = - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | masrc | sent | yyy
        options   = = # - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | m.... | sent | nnn
        options   = # - - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | m.... | sent | yyy
        options   = # = - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | masrc | sent | yyy
        options   = # # - |                         |       | masrc | masrc | masr. | masrc | masrc | masrc | masrc | m.... | sent | nnn
        options   # - - - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # - = - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # - # - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # = - - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # = = - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # = # - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # # - - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # # = - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
        options   # # # - |                         |       | m.... | m.... | m.... | m.... | masrc | m.... | masrc | m.... | none | nny
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
