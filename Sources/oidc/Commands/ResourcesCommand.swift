import CommandLineKit
import OIDCCore
import Posix

struct ResourcesCommand: RunnableCommand {
    static let name = "resources"
    static let summary = "List the profile's APIs, or call one"
    static let declaration = Declaration<ResourcesCommand>(
        discussion: """
            Lists the setting `resources`, and which of them the granted scopes open. With a title, calls that \
            resource as `oidc request` does.
            """,
        examples: [
            Example("oidc resources", "all of them, and which are open"),
            Example("oidc resources 'My orders'", "call one by its title"),
        ],
        operands: [
            .optional(\.title, "TITLE", "the resource to call", completion: .dynamic("resources"))
        ],
        options: [.group(\.request), .group(\.options), .group(\.common)])

    var title: String?
    var request = RequestOptions()
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try request.validate(with: common)
    }

    /// Refuses options for a call if no title is given.
    private func checkList() throws(OIDCError) {
        let given = [
            (!request.headers.isEmpty, "--header"), (request.data != nil, "--data"),
            (request.includesHead, "--include"),
        ]
        guard let option = given.first(where: \.0)?.1 else { return }
        throw .usage("\(option) requires the title of the resource to call", hint: .run("resources"))
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try context.provider(options)
        let resources = try Self.checked(provider.settings.tools)
        if let title {
            let resource = try Self.find(title, in: resources)
            try RequestOptions.checkScheme(
                resource.url, allowsInsecureHTTP: provider.allowsInsecureHTTP)
            let call = try request.call(
                resource.url, resource.method.name, isJSON: context.console.isJSON)
            try ResourceRequest(call: call).run(try Account(provider))
            return 0
        }
        try checkList()
        let session = try Account(provider).load()
        if context.console.isJSON {
            try context.console.output(.array(resources.map { Self.json($0, session) }))
        } else {
            try context.console.report(Self.table(resources, session))
        }
        return 0
    }

    /// Returns the resources. Throws if none is set.
    private static func checked(_ settings: ToolSettings) throws(OIDCError) -> [Resource] {
        let resources = try settings.checkedResources()
        guard !resources.isEmpty else {
            throw .usage(
                settings.layers.absence(of: .resources),
                hint: .run(
                    "config set",
                    #"resources=[{"title":"My orders","url":"https://api.example.com/orders"}]"#))
        }
        return resources
    }

    private static func find(_ title: String, in resources: [Resource]) throws(OIDCError) -> Resource {
        if let resource = resources.first(where: { $0.title == title }) { return resource }
        let nearest = Nearest.match(title, among: resources.map(\.title))
        throw .usage(
            "there is no resource \(DisplayText.quoted(title, limit: 80))"
                + (nearest.map { ", did you mean \(DisplayText.quoted($0))?" } ?? ""),
            hint: .run("resources"))
    }

    private static func json(_ resource: Resource, _ session: Session?) -> JSONValue {
        [
            "title": .string(resource.title),
            "scope": .string(resource.scope.text),
            "url": .string(resource.url.text),
            "method": .string(resource.method.name),
            "open": resource.isOpen(to: session).map { .bool($0) } ?? .null,
        ]
    }

    private static func table(_ resources: [Resource], _ session: Session?) -> String {
        let rows = resources.map { resource in
            let state =
                switch resource.isOpen(to: session) {
                case true?: "open"
                case false?: session == nil ? "sign in" : "closed"
                case nil: "unknown"
                }
            return [
                resource.title, state, resource.scope.isEmpty ? "-" : resource.scope.text,
                (resource.method == .get ? "" : "\(resource.method) ") + resource.url.text,
            ].map { DisplayText.clean($0) }
        }
        return Table.text(
            ["TITLE", "STATE", "SCOPE", "URL"], rows, width: Terminal.width(.standardOutput))
    }
}
