// Package accounts knows the people of a desk: their accounts, how they prove who they are, and how
// long that proof holds.
//
// There are two proofs, called credentials: a session, which is one signed-in browser, and an API token,
// which lets a program act as its user. Of both only hashes are stored, so that who reads the store
// cannot sign in with what it holds. A credential ends when it is deleted, when it expires, or when its
// account is disabled, in whatever process that happens; [Service.Watch] tells the streams that were
// opened with it within a second.
//
// Passwords are hashed with argon2id. Attempts to sign in are limited for each pair of account and
// address, so that a stranger can neither guess on nor lock a colleague out, and an unknown account
// takes as long to refuse as a wrong password.
//
// [Service] holds the policy; a [Store] keeps the records.
package accounts
