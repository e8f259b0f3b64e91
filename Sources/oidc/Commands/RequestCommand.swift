import CommandLineKit
import OIDCCore
import OIDCSystem

struct RequestCommand: RunnableCommand {
    static let name = "request"
    static let summary = "Call an API with the token"
    static let declaration = Declaration<RequestCommand>(
        discussion: """
            Prints the response body. The token is sent to the provider and to the profile's resources; name any \
            other API with --allow-origin. With -o json, a JSON response is indented on a terminal.
            """,
        examples: [
            Example("oidc request https://api.example.com/me", "an API of the profile's resources"),
            Example(
                "oidc request POST URL -d @order.json --allow-origin ORIGIN", "send a file to another API"),
        ],
        exitCodes: [
            ExitCode("0", "status 2xx"), ExitCode("4", "3xx or 4xx"), ExitCode("5", "5xx"),
        ],
        operands: [
            .optional(
                \.method, "METHOD", "default: GET, or POST with a body",
                completion: .values(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])),
            .required(\.url, "URL", "an https URL, or a loopback URL"),
        ],
        options: [
            .repeated(
                \.allowedOrigins, "--allow-origin", "ORIGIN", "also send the token to this origin"),
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
        let setup = try context.provider(provider)
        let access = try SessionAccess(setup)
        try AllowedOrigins(setup, try access.load(), naming: allowedOrigins).check(url)
        try request.call(url, method, setup, access)
        return 0
    }
}

extension RequestOptions {
    /// `method` as it was typed, or what fits the body.
    func call(
        _ url: WebURL, _ method: String?, _ setup: ProviderContext, _ access: SessionAccess
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
