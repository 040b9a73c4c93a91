// Prints how Go writes the fields of the built-in types as JSON: what the OpenAPI document does not say.
//
// A line for each type: its name as in pemdas_core::kube_types, then its fields, separated by spaces, as
// `name:form`. Forms: s struct, p pointer, l list, m map, t string, b boolean, i number, x something that writes
// itself, followed by the JSON of its zero value; then `!` if it is written even when it is empty, or `z` if
// it is left out when it is zero.
//
// With the word `numbers` it prints what the fields are called in protobuf in place of that: `name:number`, and `+number:type` for a
// message whose fields stand among the others in JSON.
//
// Run it with the pinned version of Kubernetes:
//
//	cd crates/pemdas-testbed/pins/kubernetes
//	go run ../../../pemdas-sim/encoding/main.go > ../../../pemdas-sim/src/built_in/encoding.txt
//	go run ../../../pemdas-sim/encoding/main.go numbers > ../../../pemdas-sim/src/built_in/numbers.txt
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var lines = map[string]string{}

// The name of a type as the table of Kubernetes types has it: the last two parts of its package, and its own.
func id(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	if len(parts) < 2 || t.Name() == "" {
		return ""
	}
	return strings.Join(parts[len(parts)-2:], "/") + "/" + t.Name()
}

var marshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()

func form(t reflect.Type) string {
	if t.Kind() != reflect.Pointer && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)) {
		zero, err := json.Marshal(reflect.New(t).Interface())
		if err != nil {
			zero = []byte("null")
		}
		return "x" + string(zero)
	}
	switch t.Kind() {
	case reflect.Pointer:
		visit(t.Elem())
		return "p"
	case reflect.Slice:
		visit(t.Elem())
		return "l"
	case reflect.Map:
		visit(t.Elem())
		return "m"
	case reflect.Struct:
		visit(t)
		return "s"
	case reflect.String:
		return "t"
	case reflect.Bool:
		return "b"
	default:
		return "i"
	}
}

func fields(t reflect.Type) []string {
	var found []string
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		words := strings.Split(field.Tag.Get("json"), ",")
		if words[0] == "-" || !field.IsExported() {
			continue
		}
		if words[0] == "" {
			if field.Type.Kind() == reflect.Struct {
				found = append(found, fields(field.Type)...)
			}
			continue
		}
		options := "," + strings.Join(words[1:], ",") + ","
		mark := "!"
		if strings.Contains(options, ",omitempty,") {
			mark = ""
		}
		if strings.Contains(options, ",omitzero,") {
			mark = "z"
		}
		found = append(found, words[0]+":"+form(field.Type)+mark)
	}
	return found
}

// The number of a field in protobuf; empty if it has none.
func number(field reflect.StructField) string {
	words := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

func numbers(t reflect.Type) []string {
	var found []string
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		name, number := strings.Split(field.Tag.Get("json"), ",")[0], number(field)
		if !field.IsExported() || number == "" || name == "-" {
			continue
		}
		visit(field.Type)
		if name == "" && field.Type.Kind() != reflect.Struct {
			continue
		}
		if name == "" {
			found = append(found, "+"+number+":"+id(field.Type))
		} else {
			found = append(found, name+":"+number)
		}
	}
	return found
}

// What is printed of a type.
var describe func(reflect.Type) []string

func visit(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	name := id(t)
	if _, known := lines[name]; known || t.Kind() != reflect.Struct || name == "" {
		return
	}
	lines[name] = ""
	found := describe(t)
	sort.Strings(found)
	lines[name] = strings.Join(found, " ")
}

func main() {
	describe = fields
	if len(os.Args) > 1 && os.Args[1] == "numbers" {
		describe = numbers
		visit(reflect.TypeOf(meta.DeleteOptions{}))
	}
	for _, add := range []func() error{
		func() error { return apiextensions.AddToScheme(scheme.Scheme) },
		func() error { return apiregistration.AddToScheme(scheme.Scheme) },
	} {
		if err := add(); err != nil {
			panic(err)
		}
	}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		served := !strings.HasSuffix(kind.Kind, "List") && !strings.HasSuffix(kind.Kind, "Options")
		if served && kind.Version != "__internal" {
			visit(t)
		}
	}
	var names []string
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name, lines[name])
	}
}
