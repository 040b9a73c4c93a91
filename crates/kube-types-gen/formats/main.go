// Asks Kubernetes' own code about texts in the formats that pemdas_core::kube_types::format reads, and prints
// its answers: format, text as JSON, and the canonical form ("" where there is none), or ! for a refusal.
//
// Run it with the pinned version of Kubernetes:
//
//	cd crates/pemdas-testbed/pins/kubernetes
//	go run ../../../kube-types-gen/formats/main.go > ../../../pemdas-core/tests/data/kube_formats.txt
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	names "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var out = bufio.NewWriter(os.Stdout)

func answer(format, text, canonical string, good bool) {
	quoted, _ := json.Marshal(text)
	if good {
		fmt.Fprintf(out, "%s\t%s\t%s\n", format, quoted, canonical)
	} else {
		fmt.Fprintf(out, "%s\t%s\t!\n", format, quoted)
	}
}

func quantity(text string) {
	parsed, err := resource.ParseQuantity(text)
	if err != nil {
		answer("quantity", text, "", false)
		return
	}
	// A copy without the remembered text, so that it is written anew.
	amount := parsed.DeepCopy()
	amount.Add(resource.Quantity{})
	amount.Neg()
	amount.Neg()
	answer("quantity", text, amount.String(), true)
}

func duration(text string) {
	parsed, err := time.ParseDuration(text)
	answer("duration", text, strconv.FormatInt(int64(parsed), 10)+"="+parsed.String(), err == nil)
}

func all(text string) {
	answer("dns_label", text, "", len(names.IsDNS1123Label(text)) == 0)
	answer("dns_1035_label", text, "", len(names.IsDNS1035Label(text)) == 0)
	answer("dns_subdomain", text, "", len(names.IsDNS1123Subdomain(text)) == 0)
	answer("path_segment", text, "", text != "" && len(path.IsValidPathSegmentName(text)) == 0)
	answer("label_key", text, "", len(names.IsQualifiedName(text)) == 0)
	answer("label_value", text, "", len(names.IsValidLabelValue(text)) == 0)
	answer("port_name", text, "", len(names.IsValidPortName(text)) == 0)
	annotations := validation.ValidateAnnotations(map[string]string{text: ""}, field.NewPath("x"))
	answer("annotation_key", text, "", len(annotations) == 0)
}

func dateTime(text string) {
	_, err := time.Parse(time.RFC3339, text)
	answer("date_time", text, "", err == nil)
}

func bytes(text string) {
	_, err := base64.StdEncoding.DecodeString(text)
	answer("base64", text, "", err == nil)
}

func pick(random *rand.Rand, from []string) string { return from[random.Intn(len(from))] }

func word(random *rand.Rand, alphabet string, longest int) string {
	var text strings.Builder
	for n := random.Intn(longest + 1); n > 0; n-- {
		text.WriteByte(alphabet[random.Intn(len(alphabet))])
	}
	return text.String()
}

func main() {
	defer out.Flush()
	random := rand.New(rand.NewSource(1))
	suffixes := []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
		"e3", "E3", "e-3", "e+6", "e0", "K", "g", "KiB", "GB", "mi", "e", "e1.5", " Gi", "i"}
	for i := 0; i < 900; i++ {
		text := pick(random, []string{"", "", "", "-", "+", "--"}) + word(random, "0123456789", 6)
		if random.Intn(3) == 0 {
			text += "." + word(random, "0123456789", 11)
		}
		text += pick(random, suffixes)
		if strings.ContainsAny(text, "0123456789") {
			quantity(text)
		}
	}
	for _, text := range []string{"0", "1", "1000", "1024", "1024Ki", "1.5Gi", "0.1Gi", "0.5Ki", "9223372036854775807",
		"9223372036854775808Ki", "8Ei", "7Ei", "-8Ei", "1e18", "0.0000000001", "1.2.3", "1,5", "ten", "0x10", "1_000",
		"100m ", " 1", "1 Gi", "1e3e3", "1M5", "999999999999999999m", "12345678901234567890123n", ""} {
		quantity(text)
	}
	units := []string{"ns", "us", "µs", "μs", "ms", "s", "m", "h", "", "d", "S", "sec"}
	for i := 0; i < 500; i++ {
		text := pick(random, []string{"", "", "", "-", "+"})
		for n := random.Intn(3) + 1; n > 0; n-- {
			text += word(random, "0123456789", 5)
			if random.Intn(3) == 0 {
				text += "." + word(random, "0123456789", 6)
			}
			text += pick(random, units)
		}
		duration(text)
	}
	for _, text := range []string{"0", "-0", "", "-", "1", ".s", "1.s", ".5s", "9223372036854775807ns",
		"9223372036854775808ns", "-9223372036854775808ns", "2562047h47m16.854775807s", "2562048h", "1h 2m", "1h-2m",
		"0.5ns", "99999999999999999999s"} {
		duration(text)
	}
	for i := 0; i < 400; i++ {
		all(word(random, pick(random, []string{"ab1-", "ab1-.", "aB1-_.", "ab1-./", "aB-_./%"}), 8))
	}
	for _, text := range []string{"", ".", "..", "a/b/c", "/a", "a/", "example.com/a", "Example.com/a", "ä", "a b", "a\n",
		strings.Repeat("a", 15), strings.Repeat("a", 16), strings.Repeat("a", 63), strings.Repeat("a", 64),
		strings.Repeat("a", 253), strings.Repeat("a", 254), strings.Repeat("a.", 126) + "a",
		strings.Repeat("a.", 127) + "a", strings.Repeat("a", 253) + "/b", "a/" + strings.Repeat("b", 64), "80", "http", "a--b"} {
		all(text)
	}
	for _, text := range []string{"2026-01-31T12:00:00Z", "2026-02-29T12:00:00Z", "2024-02-29T12:00:00Z",
		"2026-01-31T12:00:00+02:00", "2026-01-31T12:00:00.123456Z", "2026-01-31T12:00:00.Z", "2026-01-31 12:00:00Z",
		"2026-01-31T12:00:00", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z", "2026-01-31T23:59:60Z", "2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z", "2026-1-31T12:00:00Z", "26-01-31T12:00:00Z",
		"2026-01-31t12:00:00Z", "2026-01-31T12:00:00z", "2026-01-31", "", "now", "2026-01-31T12:00:00+24:00",
		"2026-01-31T12:00:00+23:60", "2026-01-31T12:00:00-0200", "2026-01-31T12:00Z", "1900-02-29T00:00:00Z",
		"2000-02-29T00:00:00Z", "2026-01-31T12:00:00,5Z", "2026-01-31T1:00:00Z"} {
		dateTime(text)
	}
	for i := 0; i < 200; i++ {
		bytes(word(random, pick(random, []string{"QUJD", "QUJD=", "aZ09+/=", "aZ-_", "QUJ\n="}), 9))
	}
	for _, text := range []string{"", "QQ==", "QUI=", "QUJD", "QQ", "Q===", "QQ=", "QQ==\n", "QQ==QQ==", "====", "QU JD"} {
		bytes(text)
	}
}
