#!/bin/sh
echo "hello $# $3" > "$1"
