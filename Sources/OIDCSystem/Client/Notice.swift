public import OIDCCore
import OIDCSignIn

extension OIDCClient {
    /// An event of a sign-in, to be reported to the user.
    public struct Notice: Sendable, CustomStringConvertible {
        /// The URL to sign in at; nil if the event is about something else.
        public private(set) var url: WebURL?
        /// The code to enter there (RFC 8628 §3.3); nil if none is needed.
        public private(set) var userCode: String?
        /// The URL that contains the code, if the provider sent one.
        public private(set) var urlWithCode: WebURL?
        /// The event in one line.
        public let description: String

        /// Creates a notice; returns nil for an event that a program need not report.
        init?(_ event: SignInNotice) {
            switch event {
            case .url(let url):
                self.url = url
                description = "Sign in at \(url.text)"
            case .device(let device):
                url = device.verificationURI
                userCode = DisplayText.clean(device.userCode)
                urlWithCode = device.verificationURIComplete
                description =
                    "Open \(device.verificationURI.text) and enter \(DisplayText.clean(device.userCode))"
            case .urlExpires(let end, _): description = "The URL can be opened until \(end)"
            case .opened: description = "The browser was started"
            case .notOpened(let reason): description = "The browser was not started: \(reason)"
            case .portsInUse(let ports):
                let list = ports.map(String.init).joined(separator: ", ")
                description = "Other sign-ins use the ports \(list): waiting for one of them"
            case .noDeviceCode(let error): description = error.message
            case .unanswered:
                description =
                    "No answer yet: if the page shows an error, check the redirect URL and the client's registration"
            case .unreachable(let error): description = error.message
            case .warning(let warning): description = warning.description
            case .strayRequest(let request) where request.isCallback: description = request.message
            case .answered: description = "The user has signed in"
            case .strayRequest, .urlRequested, .listening, .pasteOffered, .waiting: return nil
            }
        }
    }
}
