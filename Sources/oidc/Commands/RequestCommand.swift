import CommandLineKit
import OIDCCore
import OIDCSystem

struct RequestCommand: RunnableCommand {
    static let name = "request"
    static let summary = "Call an API with the token"
    static let declaration = Declaration<RequestCommand>(
        discussion: """
            The body of the answer goes to stdout. The token goes to the provider and the profile's resources; \
            another API is named with --allow-origin. With -o json an answer in JSON is indented on a terminal.
            """,
        examples: [
            Example("oidc request https://api.example.com/me", "an API among the profile's resources"),
            Example("oidc request POST URL -d @order.json --allow-origin ORIGIN", "send a file elsewhere"),
        ],
        exitCodes: [
            ExitCode("0", "a status of 2xx"), ExitCode("4", "3xx or 4xx"), ExitCode("5", "5xx"),
        ],
        operands: [
            .optional(
                \.method, "METHOD", "GET, or POST where there is a body",
                completion: .values(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])),
            .required(\.url, "URL", "an https address, or one of this machine"),
        ],
        options: [
            .repeated(
                \.allowedOrigins, "--allow-origin", "ORIGIN", "send the token there too"),
            .group(\.request), .group(\.provider), .group(\.common),
        ])

    var method: String?
    var url = ""
    var allowedOrigins: [String] = []
    var request = RequestOptions()
    var provider = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        _ = try request.parsedHeaders()
        if let method { _ = try HTTPMethod(operand: method) }
        guard WebURL(url) != nil else {
            throw UsageError("\(UsageError.quoted(url)) is no http(s) address without a user's name")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard let url = WebURL(url) else { throw .usage("expected an http(s) address") }
        let setup = ProviderSetup(try context.settings(provider), context)
        let access = try SessionAccess(setup)
        try AllowedOrigins(setup, try access.load(), naming: allowedOrigins).check(url)
        try request.call(url, method, setup, access)
        return 0
    }
}

extension RequestOptions {
    /// `method` as it was typed, or what fits the body.
    func call(
        _ url: WebURL, _ method: String?, _ setup: ProviderSetup, _ access: SessionAccess
    ) throws(OIDCError) {
        guard url.isSecure || url.isLoopback || setup.allowsInsecureHTTP else {
            throw .usage(
                "\(url.origin) is plain http, which is for this machine only: the token would be readable",
                hint: "use https")
        }
        let fields: HTTPHeaders
        let chosen: HTTPMethod
        do throws(UsageError) {
            fields = try parsedHeaders()
            chosen = try HTTPMethod(operand: method ?? (data == nil ? "GET" : "POST"))
        } catch {
            throw OIDCError(error)
        }
        let body: SentBody = if let data { try SentBody(data) } else { .none }
        try ResourceCall(
            setup: setup, access: access, method: chosen, url: url, headers: fields, body: body,
            includesHead: includesHead
        ).run()
    }
}
