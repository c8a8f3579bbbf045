// Package plugin serves the roles of package adapters by programs of the user's own, over gRPC. The interface of a plugin is that
// of package adapters; the protocol lies in proto/v1, and package sdk serves it for plugins in Go.
//
// Opening a backend starts its program, and closing it ends the program; nothing else does, so that an experiment can be
// checked and planned without running foreign code. A plugin gets no more of the environment than PATH and the variables that
// the settings name, a folder for its temporary files that is removed with it, and no standard input. Its output never
// reaches that of Culprit: the last lines of its standard error are shown where it fails.
//
// What a plugin answers is held to the contract where a breach would change a verdict unseen: a ranking out of order, a vector too
// many, a scan without its report. A plugin that dies is started again for the next call; see [ErrPluginExited].
package plugin

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "plugin"

// ErrPluginExited is in the errors of calls during which the plugin's process ended. They are transient: the next call starts the
// program anew. After three ends without an answered call in between they are permanent, and it is not started again.
var ErrPluginExited = errors.New("the plugin exited")

//go:embed plugin.schema.json
var schema []byte

// Factory opens plugins in every role. The settings are the same for all; those of the plugin itself are checked against its own
// schema when it is opened.
func Factory() adapters.Factory {
	return adapters.Factory{
		Name: Name,
		Schema: map[adapters.Role]json.RawMessage{
			adapters.RoleStore: schema, adapters.RoleEmbedder: schema, adapters.RoleGenerator: schema, adapters.RoleReranker: schema,
		},
		Check:     check,
		OpenStore: openStore, OpenEmbedder: openEmbedder, OpenGenerator: openGenerator, OpenReranker: openReranker,
	}
}

// check returns what is wrong with the settings of a plugin as such. What it says of its own is known when it is started.
func check(role adapters.Role, cfg adapters.Config) error {
	set, err := readSettings(cfg.Settings, cmp.Or(cfg.As, string(role)))
	if err != nil {
		return err
	}
	program, err := set.program(cfg.Dir)
	if err != nil {
		return &adapters.SettingError{Field: "path", Later: true, Err: err}
	}
	switch info, err := os.Stat(program); {
	case errors.Is(err, fs.ErrNotExist):
		return &adapters.SettingError{Field: "path", Later: true, Err: fmt.Errorf("%s: there is no program %q: build it before a run, or correct the path, which is relative to the experiment's folder", set.setting("path"), set.Path)}
	case err != nil:
		return &adapters.SettingError{Field: "path", Later: true, Err: fmt.Errorf("%s: %w", set.setting("path"), err)}
	case info.IsDir():
		return &adapters.SettingError{Field: "path", Err: fmt.Errorf("%s: %q is a folder: name the program", set.setting("path"), set.Path)}
	}
	return nil
}

func fail(op string, kind adapters.Kind, err error) *adapters.Error {
	return adapters.NewError(Name, op, kind, err)
}

func invalid(op, format string, args ...any) *adapters.Error {
	return fail(op, adapters.KindInvalid, fmt.Errorf(format, args...))
}
