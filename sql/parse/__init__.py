"""Text to statements: sqlglot's trees and hand-written grammar."""
