import OIDCCore
import OIDCSessions
import Posix

/// The servers at which the user signs in for themselves, and the clients there: those of the settings and of all
/// profiles, and those of sessions that are for no resource.
struct OwnClients {
    private let clients: [(issuer: String, id: String?)]
    /// Whether everything could be read.
    private let isWhole: Bool

    init(_ operand: ResourceOperand) {
        let context = operand.context
        var clients = [(operand.settings.provider.issuer, operand.settings.client.id)]
        var isWhole = true
        do throws(OIDCError) {
            if let file = try context.settingsLoader.file() {
                for profile in file.profiles {
                    let settings = try file.settings(of: profile.name, home: context.environment["HOME"])
                    // One that a sign-in to a resource wrote is for that resource.
                    guard context.ownResource(settings) == nil else { continue }
                    clients.append((settings.provider.issuer, settings.client.id))
                }
            }
            let sessions = try SessionCatalog(ProviderContext(operand.settings, context)).items()
            for key in sessions.compactMap(\.key) where key.grant.needsUser && key.resources.isEmpty {
                clients.append((key.provider, key.clientID))
            }
        } catch {
            isWhole = false
        }
        self.clients = clients.compactMap { issuer, id in issuer.map { ($0, id) } }
        self.isWhole = isWhole
    }

    /// Returns whether a client is one of these. What could not be read may name any client.
    func includes(_ id: String, at issuer: String) -> Bool {
        !isWhole || clients.contains { ExactText.isSame($0.issuer, issuer) && $0.id == id }
    }

    /// Returns a server other than this one; nil if there is none among those that could be read.
    func issuer(otherThan issuer: String) -> String? {
        clients.map(\.issuer).first { !IssuerSpelling.isSameServer($0, issuer) }
    }
}

extension ResourceOperand {
    /// Returns another server whose answers arrive at the redirect URL of a client that was not registered for one server;
    /// nil if there is none. That the user has a provider counts only for a client that nobody chose for this server.
    func issuerSharingRedirect(with issuer: String, of clientID: String) -> String? {
        let links = (try? ResourceRecords(context)?.links.all()) ?? []
        let linked = links.first { $0.registration == nil && !IssuerSpelling.isSameServer($0.issuer, issuer) }
        guard linked == nil, clientID == settings.client.metadataURL else { return linked?.issuer }
        return OwnClients(self).issuer(otherThan: issuer)
    }
}
