package plugin

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/culprit-rag/culprit/adapters"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// withoutKeys takes keys out of every text that a plugin answers: it has them from its variables, and may repeat them.
func withoutKeys(redact *adapters.Redactor) []grpc.DialOption {
	clean := func(answer any, err error) error {
		if op := repeats(answer, redact); op != "" && err == nil {
			return adapters.SecretInOutput(Name, op)
		}
		if message, ok := answer.(proto.Message); ok && err == nil {
			cleanMessage(message.ProtoReflect(), redact)
		}
		return err
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return clean(reply, invoke(ctx, method, req, reply, conn, options...))
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, conn, method, options...)
			return cleanStream{stream, clean}, err
		}),
	}
}

// repeats returns the method whose answer holds a key where it is evidence, "" for none.
func repeats(answer any, redact *adapters.Redactor) string {
	held := func(text string) bool { return redact.Answer(text) != text }
	switch answer := answer.(type) {
	case *pluginv1.GenerateResponse:
		if held(answer.GetText()) || held(answer.GetRefusal()) {
			return "generate"
		}
	case *pluginv1.SearchResponse:
		if slices.ContainsFunc(answer.GetHits(), func(h *pluginv1.Hit) bool { return held(h.GetItem().GetText()) }) {
			return "search"
		}
	}
	return ""
}

type cleanStream struct {
	grpc.ClientStream

	clean func(any, error) error
}

func (s cleanStream) RecvMsg(m any) error { return s.clean(m, s.ClientStream.RecvMsg(m)) }

func cleanMessage(m protoreflect.Message, redact *adapters.Redactor) {
	clean := func(v protoreflect.Value) protoreflect.Value {
		return protoreflect.ValueOfString(redact.Answer(v.String()))
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch kind := field.Kind(); {
		case field.IsMap():
			value.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				switch field.MapValue().Kind() {
				case protoreflect.StringKind:
					m.Mutable(field).Map().Set(key, clean(value))
				case protoreflect.MessageKind:
					cleanMessage(value.Message(), redact)
				default:
				}
				return true
			})
		case field.IsList() && (kind == protoreflect.StringKind || kind == protoreflect.MessageKind):
			for i := range value.List().Len() {
				if kind == protoreflect.StringKind {
					value.List().Set(i, clean(value.List().Get(i)))
				} else {
					cleanMessage(value.List().Get(i).Message(), redact)
				}
			}
		case kind == protoreflect.StringKind:
			m.Set(field, clean(value))
		case kind == protoreflect.MessageKind:
			cleanMessage(value.Message(), redact)
		}
		return true
	})
}
