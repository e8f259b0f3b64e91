import OIDCCore
import OIDCCrypto
import OIDCSystem

/// One call to a protected resource, whose response body goes to stdout whatever its status.
struct ResourceCall {
    let provider: ProviderContext
    let access: SessionAccess
    let method: HTTPMethod
    let url: WebURL
    let headers: HTTPHeaders
    let body: RequestData
    let includesHead: Bool

    private static let redirectLimit = 3
    /// The size limit of a response that is skipped because another attempt follows.
    private static let skippedLimit = 1 << 20

    func run() throws(OIDCError) {
        let transport = try provider.transport()
        let environment = provider.environment(over: transport)
        let request = ProtectedRequest(
            access, environment: environment, demand: access.demand(), isRepeatable: body.isRepeatable)
        var target = url
        var redirects = 0
        let answer = try request.send { attempt throws(OIDCError) -> ProtectedRequest.Outcome<Answer> in
            while true {
                let answer = try exchange(attempt, at: target, redirects: redirects, transport)
                switch answer.step {
                case .again(let next): return .again(next)
                case .redirect(let next):
                    target = next
                    redirects += 1
                case .shown: return .done(answer)
                }
            }
        }
        guard (200..<300).contains(answer.head.status) else {
            throw ResourceRefusal(provider: provider, method: method, url: target, body: body, answer: answer)
                .error
        }
    }

    /// A response without its body.
    struct Answer {
        enum Step {
            case shown
            case again(ProtectedRequest.Next)
            case redirect(WebURL)
        }

        var head = HTTPResponse(status: 0)
        var step = Step.shown
        let delivery: SessionTokens.Delivery
    }

    private final class Reading {
        var answer: Answer
        var skipped = 0

        init(_ delivery: SessionTokens.Delivery) { answer = Answer(delivery: delivery) }

        var isShown: Bool { if case .shown = answer.step { true } else { false } }
    }

    private func exchange(
        _ attempt: ProtectedRequest.Attempt, at url: WebURL, redirects: Int, _ transport: CurlTransport
    ) throws(OIDCError) -> Answer {
        var request = HTTPRequest(method, url, headers: headers)
        if !body.isEmpty, headers["Content-Type"] == nil { request.headers["Content-Type"] = body.mediaType }
        try attempt.authorize(&request)
        let output = ResponseOutput(includesHead: includesHead, isJSON: provider.context.console.isJSON)
        let reading = Reading(attempt.delivery)
        do {
            try transport.stream(
                request, body: try body.opened(),
                onResponse: { status, fields throws(OIDCError) in
                    let head = HTTPResponse(status: status, headers: fields, receivedAt: Clock.now())
                    reading.answer.head = head
                    reading.answer.step = step(after: head, attempt, at: url, redirects: redirects)
                    if reading.isShown { try output.begin(head) }
                },
                onBody: { bytes throws(OIDCError) in
                    guard !reading.isShown else { return try output.take(bytes) }
                    reading.skipped += bytes.count
                    guard reading.skipped <= ResourceCall.skippedLimit else {
                        throw OIDCError(.refused, "resource: the response is too large", stage: .resource)
                    }
                })
        } catch {
            guard !reading.isShown, error.kind != .interrupted else { throw error }
        }
        try output.end()
        return reading.answer
    }

    /// Returns what follows a response. Redirects are followed only for GET and HEAD without a body, and within the
    /// origin.
    private func step(
        after head: HTTPResponse, _ attempt: ProtectedRequest.Attempt, at url: WebURL, redirects: Int
    ) -> Answer.Step {
        if let next = attempt.next(after: head) { return .again(next) }
        guard [301, 302, 303, 307, 308].contains(head.status),
            method == .get || method == HTTPMethod("HEAD"), body.isEmpty,
            redirects < ResourceCall.redirectLimit,
            let target = head.headers["Location"].flatMap({ url.resolving($0) }),
            target.origin == url.origin
        else { return .shown }
        return .redirect(target)
    }
}
