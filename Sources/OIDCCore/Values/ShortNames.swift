// Names that a program may have itself are short in this package only.

package typealias Instant = OIDCInstant
package typealias Scope = OAuthScope
package typealias Client = OAuthClient
package typealias Warning = OIDCWarning
package typealias Stage = OIDCError.Stage
