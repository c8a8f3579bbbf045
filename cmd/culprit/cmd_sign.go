package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
)

// signSchema is the schema of [signRecord].
const signSchema = "culprit.sign/v1"

type (
	// signRecord is what culprit sign --json prints.
	signRecord struct {
		Schema  string         `json:"schema"`
		Key     string         `json:"key"` // fingerprint
		Bundles []signedRecord `json:"bundles"`
	}
	signedRecord struct {
		Path       string `json:"path"`
		Signatures string `json:"signatures"` // file
		Before     bool   `json:"before"`     // the key had signed it before
	}
)

type signOptions struct {
	results       string
	key           string
	passphraseEnv string
}

func (a *app) signCommand() *cobra.Command {
	var o signOptions
	c := &cobra.Command{
		Use:     "sign <bundle>... --key file",
		GroupID: groupLook,
		Short:   "Sign bundles that verify",
		Long: `Sign bundles. Each is verified first, as culprit verify does; where one of them is not intact, none
is signed. A signature stands beside its bundle, in <bundle>.dsse.json, and changes no byte of it;
more of them are added to the same file. It is a DSSE envelope over an in-toto Statement about
manifest.json, which says what came of the case and of each cell (predicate test-result v0.1).

The key is an Ed25519 key as ssh-keygen -t ed25519 or openssl genpkey -algorithm ed25519 writes it.
A file that others can read is refused. The passphrase of one that has one is read from an
environment variable, never from the command line.

A <bundle> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution.`,
		Example: `  culprit sign release-bundles/ --key ~/.ssh/id_ed25519
  culprit sign 20261129T200000Z-k3f9qa --key release-key --passphrase-env RELEASE_PASSPHRASE
  culprit verify release-bundles/ --trust release-key.pub`,
		Args: atLeastOne("bundle"),
		RunE: func(_ *cobra.Command, args []string) error { return a.sign(o, args) },
	}
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results, for ids of executions")
	c.Flags().StringVar(&o.key, "key", "", "`file` of the private key")
	c.Flags().StringVar(&o.passphraseEnv, passphraseFlag[2:], "", "environment `variable` that holds the passphrase of the key")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+signSchema+")")
	return c
}

const passphraseFlag = "--passphrase-env"

// privateKey reads the key that is signed with.
func (o *signOptions) privateKey(env func(string) string) (ed25519.PrivateKey, error) {
	if o.key == "" {
		return nil, usage("a key is needed: name its file with --key, or make one with ssh-keygen -t ed25519 -f <file>")
	}
	passphrase := ""
	if o.passphraseEnv != "" {
		if passphrase = env(o.passphraseEnv); passphrase == "" {
			return nil, usage("%s: the environment variable %q is not set", passphraseFlag, o.passphraseEnv)
		}
	}
	key, err := readPrivateKey(o.key, passphrase)
	if err != nil {
		return nil, usage("--key: %w", err)
	}
	return key, nil
}

func (a *app) sign(o signOptions, args []string) error {
	key, err := o.privateKey(a.env)
	if err != nil {
		return err
	}
	paths, err := findBundles(o.results, args)
	if err != nil {
		return err
	}
	// What is partial may be signed: the statement tells that it does not pass.
	verified, code, err := verifyAll(paths, results.Policy{Partial: true})
	if err != nil {
		return err
	}
	if code != exitOK {
		bad := slices.IndexFunc(verified, func(v *results.Verification) bool { return verifyCodes[v.State] == code })
		a.complain(fmt.Errorf("nothing was signed: %q does not verify: %s\nSee: culprit verify %s", verified[bad].Path, verified[bad].Problems[0], strings.Join(args, " ")), code)
		return finished(code)
	}
	if at := slices.IndexFunc(verified, func(v *results.Verification) bool { return v.Reenacted != "" }); at >= 0 {
		return usage("nothing was signed: %s was re-enacted of the bundle of manifest %s, and nobody was asked: sign that one", quote(verified[at].Path), verified[at].Reenacted)
	}
	record := signRecord{Schema: signSchema, Key: results.Fingerprint(key.Public().(ed25519.PublicKey))}
	for _, v := range verified {
		file, err := results.Sign(v.Path, v.Manifest, key)
		if err != nil && !errors.Is(err, results.ErrSigned) {
			return err
		}
		record.Bundles = append(record.Bundles, signedRecord{Path: v.Path, Signatures: file, Before: err != nil})
	}
	if a.json {
		return a.writeJSON(record)
	}
	for _, b := range record.Bundles {
		done := "signed"
		if b.Before {
			done = "signed before"
		}
		linef(a.out, "%s with %s: %s", done, record.Key, b.Signatures)
	}
	return nil
}
