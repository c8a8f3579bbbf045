package pluginv1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// A plugin that was built a year ago speaks by these numbers. A line may be added; a line that changes is a new version of the
// protocol.
func TestNumbersOnTheWireStayAsTheyAre(t *testing.T) {
	golden := filepath.Join("testdata", "numbers.golden")
	got := describe(pluginv1.File_v1_plugin_proto)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the protocol differs from %s (-want +got):\n%s", golden, diff)
	}
}

// describe lists everything of the protocol that stands on the wire.
func describe(file protoreflect.FileDescriptor) string {
	var b strings.Builder
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			fmt.Fprintf(&b, "/%s/%s(%s%s) %s%s\n", service.FullName(), m.Name(),
				stream(m.IsStreamingClient()), m.Input().FullName(), stream(m.IsStreamingServer()), m.Output().FullName())
		}
	}
	for i := range file.Enums().Len() {
		enum := file.Enums().Get(i)
		for j := range enum.Values().Len() {
			value := enum.Values().Get(j)
			fmt.Fprintf(&b, "%s %d %s\n", enum.FullName(), value.Number(), value.Name())
		}
	}
	for i := range file.Messages().Len() {
		message := file.Messages().Get(i)
		fmt.Fprintf(&b, "%s\n", message.FullName())
		for j := range message.Fields().Len() {
			f := message.Fields().Get(j)
			fmt.Fprintf(&b, "%s %d %s %s\n", message.FullName(), f.Number(), f.Name(), typeOf(f))
		}
	}
	return b.String()
}

func stream(is bool) string {
	if is {
		return "stream "
	}
	return ""
}

func typeOf(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	switch {
	case f.IsMap():
		return "map of " + typeOf(f.MapKey()) + " to " + typeOf(f.MapValue())
	case f.Message() != nil:
		name = string(f.Message().FullName())
	case f.Enum() != nil:
		name = string(f.Enum().FullName())
	}
	switch {
	case f.IsPacked():
		return "packed " + name
	case f.IsList():
		return "repeated " + name
	case f.HasOptionalKeyword():
		return "optional " + name
	}
	return name
}
