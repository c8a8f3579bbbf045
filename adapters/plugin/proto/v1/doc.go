// Package pluginv1 is version 1 of the plugin protocol, made from plugin.proto by generate.sh. Nobody but the two ends of the
// wire, packages plugin and sdk, needs it: the authors of plugins see plain Go.
package pluginv1

//go:generate ./generate.sh
