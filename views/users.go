package views

import (
	"filmroom/accounts"
)

// Users is the administrators' page of people.
type Users struct {
	Frame
	Rows   []UserRow
	Typed  UserForm
	Secret Secret // of a person just added, shown this once
}

// A UserForm is what is typed to add a person; the password is made by the desk.
type UserForm struct {
	Email, Name string
	Admin       bool
	Error       string
}

// A UserRow is a person with an account.
type UserRow struct {
	ID, Email, Name string
	Admin, Disabled bool
	Self            bool // the viewer, who cannot disable the own account
	Since           When // added, or disabled when Disabled
	Added           When
}

// A Secret is shown once, to be handed over. The zero Secret shows nothing.
type Secret struct {
	Of    string // whose it is, or what it is for
	Value string
}

// NewUsers makes the page of people; left is what the last action left, mostly zero.
func NewUsers(f Frame, all []accounts.User, left Users) Users {
	f.title, f.section = "Users", SectionUsers
	left.Frame, left.Rows = f, nil
	for _, u := range all {
		left.Rows = append(left.Rows, newUserRow(f, u))
	}
	return left
}

func newUserRow(f Frame, u accounts.User) UserRow {
	row := UserRow{ID: u.ID, Email: u.Email, Name: u.Name, Admin: u.Admin, Disabled: u.Disabled(), Self: u.Email == f.User.Email,
		Added: NewWhen(u.CreatedAt, f.Now), Since: NewWhen(u.CreatedAt, f.Now)}
	if row.Disabled {
		row.Since = NewWhen(u.DisabledAt, f.Now)
	}
	return row
}

// A User is the administrators' page of one person.
type User struct {
	Frame
	Row    UserRow
	Tokens []TokenRow
	Secret Secret // a password just reset, shown this once
	Error  string // why the last action was refused
}

// NewUser makes the page of one person; left is what the last action left, mostly zero.
func NewUser(f Frame, u accounts.User, tokens []accounts.Token, left User) User {
	left.Row, left.Tokens = newUserRow(f, u), nil
	f.title, f.section = orElse(u.Name, u.Email), SectionUsers
	left.Frame = f
	for _, t := range tokens {
		left.Tokens = append(left.Tokens, newTokenRow(t, f.Now))
	}
	return left
}
