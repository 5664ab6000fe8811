// Package secret takes secrets out of text before it reaches a journal, a log, a client or a
// model.
//
// Three things are known for secrets. What the environment or the configuration calls one: the
// values of variables with such names, passwords in addresses; these are found in each form in
// which they usually travel, as JSON, in an address, as base64, as hex. What looks like one by
// itself: private keys, and tokens by the beginnings that their issuers gave them. And what is
// random beside a name that says secret, as in password = "…". Digests, ids and images, which are
// random too, bear no such name and stay.
//
// Everything is found in one pass: the first two bytes of all that is looked for are a set of
// bits, and only where a pair of bytes is in it anything is compared. No regular expression is
// compiled.
//
// In place of a secret stands a mark, like [GITHUB_TOKEN redacted]. A text with marks is not
// changed by another pass. The package does not know where text comes from or goes to, and cannot
// tell a secret that nothing betrays.
package secret
