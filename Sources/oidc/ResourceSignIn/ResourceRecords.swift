import OIDCCore
import OIDCSessions
import Posix

/// The records of resources and registered clients in the state directory.
struct ResourceRecords {
    let links: ResourceLinks
    let registrations: Registrations
    let uses: ClientUses
    private let directory: String

    /// Creates the records; returns nil if no state directory is available.
    init?(_ context: CommandContext) {
        guard let path = StateDirectories(environment: context.environment).state, FilePath.isPossible(path)
        else { return nil }
        directory = path
        links = ResourceLinks(state: path)
        registrations = Registrations(state: path)
        uses = ClientUses(state: path)
    }

    /// Checks that the state directory, in which those of the records are, may hold secrets.
    func checkDirectory() throws(OIDCError) { _ = try PrivateDirectory.open(directory) }

    /// The URLs of all resources that the user signed in to, without those that the user has signed out of since.
    var urls: [String] {
        var urls: [String] = []
        for link in (try? links.all()) ?? []
        where !link.isConsentWithdrawn && !urls.contains(link.reach) { urls.append(link.reach) }
        return urls
    }

    /// Keeps a registered client, and those of resources that were signed in to.
    func keep(_ client: RegisteredRecord, as name: String, issuer: String) throws(OIDCError) {
        let used = Result { () throws(OIDCError) in
            Set(try links.all().filter { ExactText.isSame($0.issuer, issuer) }.map(\.clientID))
        }
        // Links that cannot be read may name any client.
        try registrations.keep(client, as: name, issuer: issuer) { (try? used.get().contains($0)) ?? true }
    }

    /// The error of a logout without a provider, which lists the resources; nil if there are none.
    var choice: OIDCError? {
        let urls = urls
        guard let first = urls.first else { return nil }
        let list = urls.map { DisplayText.clean($0) }.joined(separator: ", ")
        return .usage(
            "no provider is set; the resources that were signed in to are \(DisplayText.clean(list, limit: 300))",
            hint: .run("logout", urls.count == 1 ? first : "URL"))
    }

    /// Stores that a profile configures the client of a link.
    func setProfile(_ name: String, of target: ResourceLink) {
        for var link in (try? links.all()) ?? []
        where link.resource == target.resource && link.issuer == target.issuer
            && link.clientID == target.clientID && link.grant == target.grant
            && link.account == target.account
        {
            link.profile = name
            try? links.keep(link)
        }
    }

    /// Renames the profile in the links of its sign-ins; nil if the profile was removed.
    func rename(profile: String, to name: String?) {
        for var link in (try? links.all()) ?? [] where link.profile == profile {
            link.profile = name
            try? links.keep(link)
        }
    }

    /// Ends the links that lead to a session, and the user's consent. If `keepsLinks`, all links are kept;
    /// otherwise, those of a profile and those that record an earlier question are. The latter record that
    /// the consent is withdrawn. A link that is kept does no harm, as its session no longer exists.
    func forget(_ key: SessionKey, _ context: CommandContext, keepsLinks: Bool = false) {
        for resource in key.resources {
            guard let url = WebURL(resource), let known = try? links.links(of: url) else { continue }
            for link in known
            where link.resource == resource && link.issuer == key.provider && link.clientID == key.clientID
                && link.grant == key.grant && link.account == key.account
            {
                let isOfDocument = link.registration == nil && WebURL(link.clientID) != nil
                let tellsOfQuestion =
                    isOfDocument || link.agreedScope != nil || link.isConsentWithdrawn
                    || !link.askedBefore.isEmpty
                guard keepsLinks || tellsOfQuestion || context.isOfProfile(link) else {
                    try? links.end(link)
                    continue
                }
                var left = link
                // A profile with the client's secret is for the server that was named.
                if tellsOfQuestion || link.registration != nil {
                    left.isIssuerNamed = false
                    left.namedBeside = []
                }
                if tellsOfQuestion {
                    left.agreedScope = nil
                    left.isSecretAgreed = false
                    left.isConsentWithdrawn = true
                }
                if left != link { try? links.keep(left) }
            }
        }
    }
}
