module pemdas.dev/testbed/coredns

go 1.26.0
