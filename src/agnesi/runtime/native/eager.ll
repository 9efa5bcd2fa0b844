; The end of an eager operation, `finished(data, op, xs)` of core/dispatch.py: its result as a tensor,
; and the record of it where gradients flow.  What is said there of records holds here.
;
; The builtin's self object holds, 16 bytes in (ctypes' b_ptr), the address of a table of addresses,
; objects and offsets of slots (`runtime/eager.py` writes it).  References that it holds are borrowed
; from its Python attributes.  A slot holds a reference of its own.

define internal ptr @word_of(ptr %table, i64 %i) nounwind alwaysinline {
  %at = getelementptr ptr, ptr %table, i64 %i
  %word = load ptr, ptr %at
  ret ptr %word
}

; What a slot of an object holds, borrowed; the table has the slot's offset at %i.
define internal ptr @slot(ptr %table, ptr %object, i64 %i) nounwind alwaysinline {
  %word = call ptr @word_of(ptr %table, i64 %i)
  %offset = ptrtoint ptr %word to i64
  %value = call ptr @field(ptr %object, i64 %offset)
  ret ptr %value
}

; Put a reference, which is taken over, into a slot.
define internal void @put(ptr %table, ptr %object, i64 %i, ptr %value) nounwind alwaysinline {
  %word = call ptr @word_of(ptr %table, i64 %i)
  %offset = ptrtoint ptr %word to i64
  %at = getelementptr i8, ptr %object, i64 %offset
  %old = load ptr, ptr %at
  store ptr %value, ptr %at
  call void @decref(ptr %old)                 ; Py_DecRef takes null
  ret void
}

; The same of a new object, whose slots hold nothing yet.
define internal void @set(ptr %table, ptr %object, i64 %i, ptr %value) nounwind alwaysinline {
  %word = call ptr @word_of(ptr %table, i64 %i)
  %offset = ptrtoint ptr %word to i64
  %at = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %at
  ret void
}

define internal void @set_shared(ptr %table, ptr %object, i64 %i, ptr %value) nounwind alwaysinline {
  call void @incref(ptr %value)
  call void @set(ptr %table, ptr %object, i64 %i, ptr %value)
  ret void
}

define internal void @put_shared(ptr %table, ptr %object, i64 %i, ptr %value) nounwind alwaysinline {
  call void @incref(ptr %value)
  call void @put(ptr %table, ptr %object, i64 %i, ptr %value)
  ret void
}

; An attribute whose name is at %i; owned, or null.
define internal ptr @attribute(ptr %table, ptr %object, i64 %i) nounwind alwaysinline {
  %name = call ptr @word_of(ptr %table, i64 %i)
  %get = call ptr @word_of(ptr %table, i64 2)
  %value = call ptr %get(ptr %object, ptr %name)
  ret ptr %value
}

; Whether an attribute of an operation is true: 1, 0, or -1 for an error.
define internal i32 @says(ptr %table, ptr %op, i64 %i) nounwind alwaysinline {
entry:
  %value = call ptr @attribute(ptr %table, ptr %op, i64 %i)
  %bad = icmp eq ptr %value, null
  br i1 %bad, label %no, label %look
look:
  %test = call ptr @word_of(ptr %table, i64 3)
  %truth = call i32 %test(ptr %value)
  call void @decref(ptr %value)
  ret i32 %truth
no:
  ret i32 -1
}

define internal ptr @item(ptr %tuple, i64 %i) nounwind alwaysinline {
  %items = getelementptr i8, ptr %tuple, i64 {items}
  %at = getelementptr ptr, ptr %items, i64 %i
  %object = load ptr, ptr %at
  ret ptr %object
}

; The counter of changes of a tensor's memory, which is made where nobody asked for it yet; borrowed
; from the tensor, or null.
define internal ptr @counter_of(ptr %table, ptr %x) nounwind {
entry:
  %none = call ptr @api_get(i64 16)
  %had = call ptr @slot(ptr %table, ptr %x, i64 19)
  %fresh = icmp eq ptr %had, %none
  br i1 %fresh, label %make, label %found
make:
  %new.list = call ptr @word_of(ptr %table, i64 4)
  %list = call ptr %new.list(i64 1)
  %bad = icmp eq ptr %list, null
  br i1 %bad, label %no, label %fill
fill:
  %zero = call ptr @word_of(ptr %table, i64 11)
  %items = call ptr @field(ptr %list, i64 24)
  call void @incref(ptr %zero)
  store ptr %zero, ptr %items
  call void @put(ptr %table, ptr %x, i64 19, ptr %list)
  ret ptr %list
found:
  ret ptr %had
no:
  ret ptr null
}

; Let the family of tensors on one memory know one more, or a node, as `register` of core/tensor.py;
; false with an error set.
define internal i1 @join_family(ptr %table, ptr %family, ptr %member) nounwind {
entry:
  %pair = alloca [2 x ptr]
  %size.at = getelementptr i8, ptr %family, i64 16
  %size = load i64, ptr %size.at
  %many = icmp ugt i64 %size, 31              ; what is gone is to be cleared away
  br i1 %many, label %register, label %refer
register:
  store ptr %family, ptr %pair
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %member, ptr %second
  %call = call ptr @api_get(i64 22)
  %function = call ptr @word_of(ptr %table, i64 12)
  %done = call ptr %call(ptr %function, ptr %pair, i64 2, ptr null)
  %failed = icmp eq ptr %done, null
  br i1 %failed, label %no, label %drop
drop:
  call void @decref(ptr %done)
  ret i1 true
refer:
  %new.reference = call ptr @word_of(ptr %table, i64 55)
  %reference = call ptr %new.reference(ptr %member, ptr null)
  %none = icmp eq ptr %reference, null
  br i1 %none, label %no, label %append
append:
  %put.last = call ptr @word_of(ptr %table, i64 56)
  %error = call i32 %put.last(ptr %family, ptr %reference)
  call void @decref(ptr %reference)
  %appended = icmp eq i32 %error, 0
  ret i1 %appended
no:
  ret i1 false
}

; Let the node keep the value of a tensor, as `keep` of core/tensor.py; false with an error set.
define internal i1 @keep_value(ptr %table, ptr %x, ptr %node) nounwind {
entry:
  %counter = call ptr @counter_of(ptr %table, ptr %x)
  %bad = icmp eq ptr %counter, null
  br i1 %bad, label %no, label %keep
keep:
  %array = call ptr @slot(ptr %table, ptr %x, i64 16)
  call void @put_shared(ptr %table, ptr %node, i64 28, ptr %array)
  call void @put_shared(ptr %table, ptr %node, i64 29, ptr %counter)
  %size.at = getelementptr i8, ptr %counter, i64 16
  %size = load i64, ptr %size.at
  %shared = icmp ugt i64 %size, 1             ; others look into the memory
  br i1 %shared, label %join, label %yes
join:
  %joined = call i1 @join_family(ptr %table, ptr %counter, ptr %node)
  ret i1 %joined
yes:
  ret i1 true
no:
  ret i1 false
}

; The node of an operand, owned; null with an error set.
define internal ptr @operand_node(ptr %table, ptr %x) nounwind {
entry:
  %none = call ptr @api_get(i64 16)
  %view = call ptr @slot(ptr %table, ptr %x, i64 18)
  %plain = icmp eq ptr %view, %none
  br i1 %plain, label %look, label %seen
seen:                                         ; whether the base is as it was when the view was taken
  %counter = call ptr @slot(ptr %table, ptr %x, i64 19)
  %numbers = call ptr @field(ptr %counter, i64 24)
  %last = load ptr, ptr %numbers
  %then = call ptr @slot(ptr %table, ptr %view, i64 54)
  %unchanged = icmp eq ptr %last, %then
  br i1 %unchanged, label %look, label %ask.view
look:
  %node = call ptr @slot(ptr %table, ptr %x, i64 17)
  %missing = icmp eq ptr %node, %none
  br i1 %missing, label %ask, label %flag
flag:
  %flag.node = call ptr @slot(ptr %table, ptr %node, i64 27)
  %flag.own = call ptr @slot(ptr %table, ptr %x, i64 15)
  %agree = icmp eq ptr %flag.node, %flag.own
  br i1 %agree, label %value, label %ask
value:
  %kept = call ptr @slot(ptr %table, ptr %node, i64 28)
  %array = call ptr @slot(ptr %table, ptr %x, i64 16)
  %same = icmp eq ptr %kept, %array
  br i1 %same, label %yes, label %computed
computed:
  %op = call ptr @slot(ptr %table, ptr %node, i64 22)
  %leaf = icmp eq ptr %op, %none
  %valued = icmp ne ptr %kept, %none
  %other = or i1 %leaf, %valued
  br i1 %other, label %ask, label %yes
yes:
  call void @incref(ptr %node)
  ret ptr %node
ask.view:
  br label %ask
ask:                                          ; `current` of a view, else `node_of`
  %which = phi i64 [13, %ask.view], [14, %look], [14, %flag], [14, %computed]
  %function = call ptr @word_of(ptr %table, i64 %which)
  %call = call ptr @api_get(i64 21)
  %found = call ptr %call(ptr %function, ptr %x)
  ret ptr %found
}

; The user's code object and instruction, as `record` of core/dispatch.py finds them; owned, or null.
define internal ptr @users_place(ptr %table) nounwind {
entry:
  %depth = alloca ptr
  %one = call ptr @word_of(ptr %table, i64 35)
  store ptr %one, ptr %depth
  %get.frame = call ptr @word_of(ptr %table, i64 34)
  %vectorcall = call ptr @api_get(i64 22)
  %first = call ptr %vectorcall(ptr %get.frame, ptr %depth, i64 1, ptr null)
  br label %test
test:
  %frame = phi ptr [%first, %entry], [%back, %outer]
  %end = icmp eq ptr %frame, null
  br i1 %end, label %nowhere, label %look
look:
  %get.code = call ptr @word_of(ptr %table, i64 6)
  %code = call ptr %get.code(ptr %frame)      ; never null
  %file = call ptr @attribute(ptr %table, ptr %code, i64 36)
  %unknown = icmp eq ptr %file, null
  br i1 %unknown, label %fail, label %theirs
theirs:
  %contains = call ptr @word_of(ptr %table, i64 5)
  %theirs.set = call ptr @word_of(ptr %table, i64 37)
  %is.theirs = call i32 %contains(ptr %theirs.set, ptr %file)
  %found = icmp eq i32 %is.theirs, 1
  br i1 %found, label %here, label %met
met:
  %met.set = call ptr @word_of(ptr %table, i64 38)
  %is.met = call i32 %contains(ptr %met.set, ptr %file)
  %known = icmp eq i32 %is.met, 1
  br i1 %known, label %outer, label %ask
ask:
  %ours = call ptr @word_of(ptr %table, i64 39)
  %call = call ptr @api_get(i64 21)
  %answer = call ptr %call(ptr %ours, ptr %file)
  %bad = icmp eq ptr %answer, null
  br i1 %bad, label %fail.file, label %answered
answered:
  call void @decref(ptr %answer)
  %true = call ptr @api_get(i64 13)
  %is.ours = icmp eq ptr %answer, %true
  br i1 %is.ours, label %outer, label %here
outer:
  call void @decref(ptr %file)
  call void @decref(ptr %code)
  %get.back = call ptr @word_of(ptr %table, i64 7)
  %back = call ptr %get.back(ptr %frame)
  call void @decref(ptr %frame)
  br label %test
here:
  call void @decref(ptr %file)
  %get.place = call ptr @word_of(ptr %table, i64 8)
  %place = call i32 %get.place(ptr %frame)
  call void @decref(ptr %frame)
  %wide = sext i32 %place to i64
  %number = call ptr @api_get(i64 20)
  %lasti = call ptr %number(i64 %wide)
  %new.tuple = call ptr @api_get(i64 17)
  %where = call ptr %new.tuple(i64 3)
  %none.where = icmp eq ptr %where, null
  br i1 %none.where, label %no.memory, label %fill
fill:
  %items = getelementptr i8, ptr %where, i64 {items}
  %items1 = getelementptr ptr, ptr %items, i64 1
  %items2 = getelementptr ptr, ptr %items, i64 2
  %text = call ptr @word_of(ptr %table, i64 10)
  call void @incref(ptr %text)
  store ptr %code, ptr %items
  store ptr %lasti, ptr %items1
  store ptr %text, ptr %items2
  ret ptr %where
no.memory:
  call void @decref(ptr %lasti)
  call void @decref(ptr %code)
  ret ptr null
fail.file:
  call void @decref(ptr %file)
  br label %fail
fail:
  call void @decref(ptr %code)
  call void @decref(ptr %frame)
  ret ptr null
nowhere:                                      ; no frame of the user's, or an error of the first call
  %occurred = call ptr @api_get(i64 11)
  %error = call ptr %occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %none, label %failed
failed:
  ret ptr null
none:
  %nothing = call ptr @api_get(i64 16)
  call void @incref(ptr %nothing)
  ret ptr %nothing
}

; The sizes of an array as a tuple; owned, or null.
define internal ptr @shape_of(ptr %array) nounwind {
entry:
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd32 = load i32, ptr %nd.at
  %nd = zext i32 %nd32 to i64
  %dims = call ptr @field(ptr %array, i64 32)
  %new.tuple = call ptr @api_get(i64 17)
  %shape = call ptr %new.tuple(i64 %nd)
  %bad = icmp eq ptr %shape, null
  br i1 %bad, label %no, label %test
test:
  %i = phi i64 [0, %entry], [%i1, %set]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %make, label %done
make:
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %dim = load i64, ptr %dim.at
  %number = call ptr @api_get(i64 20)
  %object = call ptr %number(i64 %dim)
  %none = icmp eq ptr %object, null
  br i1 %none, label %drop, label %set
set:
  %items = getelementptr i8, ptr %shape, i64 {items}
  %at = getelementptr ptr, ptr %items, i64 %i
  store ptr %object, ptr %at
  %i1 = add i64 %i, 1
  br label %test
drop:
  call void @decref(ptr %shape)
  ret ptr null
done:
  ret ptr %shape
no:
  ret ptr null
}

; The node of a result, owned; null with an error set.
define internal ptr @new_node(ptr %table, ptr %array, ptr %op, ptr %xs, i64 %n) nounwind {
entry:
  %new.tuple = call ptr @api_get(i64 17)
  %inputs = call ptr %new.tuple(i64 %n)
  %bad = icmp eq ptr %inputs, null
  br i1 %bad, label %no, label %test
test:
  %i = phi i64 [0, %entry], [%i1, %set]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %operand, label %made
operand:
  %x = call ptr @item(ptr %xs, i64 %i)
  %source = call ptr @operand_node(ptr %table, ptr %x)
  %none.source = icmp eq ptr %source, null
  br i1 %none.source, label %drop.inputs, label %set
set:
  %items = getelementptr i8, ptr %inputs, i64 {items}
  %at = getelementptr ptr, ptr %items, i64 %i
  store ptr %source, ptr %at
  %i1 = add i64 %i, 1
  br label %test
made:
  %shape = call ptr @shape_of(ptr %array)
  %none.shape = icmp eq ptr %shape, null
  br i1 %none.shape, label %drop.inputs, label %place
place:
  %where = call ptr @users_place(ptr %table)
  %none.where = icmp eq ptr %where, null
  br i1 %none.where, label %drop.shape, label %number
number:
  %serials = call ptr @api_get(i64 25)
  %next.at = getelementptr i8, ptr %serials, i64 16
  %next = load i64, ptr %next.at
  %step = call ptr @api_get(i64 24)
  %positive = call ptr %step(ptr %serials)
  call void @decref(ptr %positive)
  %minus = sub i64 0, %next
  %from.long = call ptr @api_get(i64 20)
  %serial = call ptr %from.long(i64 %minus)
  %none.serial = icmp eq ptr %serial, null
  br i1 %none.serial, label %drop.where, label %allocate
allocate:
  %type = call ptr @word_of(ptr %table, i64 1)
  %make = call ptr @api_get(i64 15)
  %node = call ptr %make(ptr %type, i64 0)
  %none.node = icmp eq ptr %node, null
  br i1 %none.node, label %drop.serial, label %fill
fill:
  %none = call ptr @api_get(i64 16)
  %true = call ptr @api_get(i64 13)
  %false = call ptr @api_get(i64 14)
  %descr = call ptr @field(ptr %array, i64 56)
  call void @set_shared(ptr %table, ptr %node, i64 22, ptr %op)
  call void @set(ptr %table, ptr %node, i64 23, ptr %inputs)
  call void @set(ptr %table, ptr %node, i64 24, ptr %shape)
  call void @set_shared(ptr %table, ptr %node, i64 25, ptr %descr)
  call void @set_shared(ptr %table, ptr %node, i64 26, ptr %false)
  call void @set_shared(ptr %table, ptr %node, i64 27, ptr %true)
  call void @set_shared(ptr %table, ptr %node, i64 28, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 29, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 30, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 31, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 32, ptr %none)
  call void @set(ptr %table, ptr %node, i64 33, ptr %where)
  call void @set(ptr %table, ptr %node, i64 21, ptr %serial)
  ret ptr %node
drop.serial:
  call void @decref(ptr %serial)
  br label %drop.where
drop.where:
  call void @decref(ptr %where)
  br label %drop.shape
drop.shape:
  call void @decref(ptr %shape)
  br label %drop.inputs
drop.inputs:
  call void @decref(ptr %inputs)
  br label %no
no:
  ret ptr null
}

; Let a node keep what the rules of its operation read; false with an error set.  %new says that the
; one operand of two which wants no gradient had no node before.
define internal i1 @keep_what_is_read(ptr %table, ptr %t, ptr %op, ptr %xs, i64 %n, ptr %node, i1 %new) nounwind {
entry:
  %none = call ptr @api_get(i64 16)
  %true = call ptr @api_get(i64 13)
  %as.long = call ptr @api_get(i64 10)
  %tuple = call ptr @api_get(i64 23)
  %inputs = call ptr @slot(ptr %table, ptr %node, i64 23)
  %two = icmp eq i64 %n, 2
  br i1 %two, label %pair, label %usual
pair:
  %a = call ptr @item(ptr %xs, i64 0)
  %b = call ptr @item(ptr %xs, i64 1)
  %a.flag = call ptr @slot(ptr %table, ptr %a, i64 15)
  %b.flag = call ptr @slot(ptr %table, ptr %b, i64 15)
  %a.wants = icmp eq ptr %a.flag, %true
  %b.wants = icmp eq ptr %b.flag, %true
  %both = and i1 %a.wants, %b.wants
  %last = zext i1 %a.wants to i64             ; the place of the operand without a gradient
  br i1 %both, label %usual, label %single
single:
  %choices = call ptr @attribute(ptr %table, ptr %op, i64 48)
  %no.choices = icmp eq ptr %choices, null
  br i1 %no.choices, label %fail, label %choose
choose:
  %choices.size.at = getelementptr i8, ptr %choices, i64 16
  %choices.size = load i64, ptr %choices.size.at
  %empty = icmp eq i64 %choices.size, 0
  br i1 %empty, label %no.choice, label %chosen
no.choice:
  call void @decref(ptr %choices)
  br label %usual
chosen:
  %choice = call ptr @item(ptr %choices, i64 %last)
  call void @incref(ptr %choice)
  call void @decref(ptr %choices)
  br label %loop
usual:
  %is.one = phi i1 [false, %entry], [false, %pair], [true, %no.choice]
  %usual.last = phi i64 [0, %entry], [0, %pair], [%last, %no.choice]
  %kept = call ptr @attribute(ptr %table, ptr %op, i64 47)
  %no.kept = icmp eq ptr %kept, null
  br i1 %no.kept, label %fail, label %loop
loop:
  %places = phi ptr [%choice, %chosen], [%kept, %usual]
  %one = phi i1 [true, %chosen], [%is.one, %usual]
  %other = phi i64 [%last, %chosen], [%usual.last, %usual]
  %may.drop = phi i1 [%new, %chosen], [false, %usual]
  %all = icmp eq ptr %places, %none
  %size.at = getelementptr i8, ptr %places, i64 16
  br i1 %all, label %begin, label %sized
sized:
  %size = load i64, ptr %size.at
  br label %begin
begin:
  %count = phi i64 [%n, %loop], [%size, %sized]
  br label %test
test:
  %i = phi i64 [0, %begin], [%i1, %next]
  %drop = phi i1 [%may.drop, %begin], [%drop1, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %which, label %read
which:
  br i1 %all, label %keep, label %number
number:
  %object = call ptr @item(ptr %places, i64 %i)
  %told = call i64 %as.long(ptr %object)
  br label %keep
keep:
  %place = phi i64 [%i, %which], [%told, %number]
  %x = call ptr @item(ptr %xs, i64 %place)
  %source = call ptr @item(ptr %inputs, i64 %place)
  %ok = call i1 @keep_value(ptr %table, ptr %x, ptr %source)
  br i1 %ok, label %next, label %fail.places
next:
  %same = icmp eq i64 %place, %other
  %differs = xor i1 %same, true
  %drop1 = and i1 %drop, %differs
  %i1 = add i64 %i, 1
  br label %test
read:
  call void @decref(ptr %places)
  br i1 %drop, label %forget, label %result
forget:                                       ; the value of a new leaf, which no rule reads
  %unread = call ptr @item(ptr %xs, i64 %other)
  %unread.view = call ptr @slot(ptr %table, ptr %unread, i64 18)
  %own = icmp eq ptr %unread.view, %none
  br i1 %own, label %empty.leaf, label %result
empty.leaf:
  %leaf = call ptr @item(ptr %inputs, i64 %other)
  call void @put_shared(ptr %table, ptr %leaf, i64 28, ptr %none)
  br label %result
result:
  %wanted = call i32 @says(ptr %table, ptr %op, i64 49)
  switch i32 %wanted, label %fail [ i32 0, label %yes
                                    i32 1, label %whose ]
whose:
  br i1 %one, label %by.one, label %keep.result
by.one:
  %flags = call ptr @attribute(ptr %table, ptr %op, i64 50)
  %no.flags = icmp eq ptr %flags, null
  br i1 %no.flags, label %fail, label %flag
flag:
  %flag.is = call ptr @item(ptr %flags, i64 %other)
  call void @decref(ptr %flags)
  %reads = icmp eq ptr %flag.is, %true
  br i1 %reads, label %keep.result, label %yes
keep.result:
  %kept.result = call i1 @keep_value(ptr %table, ptr %t, ptr %node)
  ret i1 %kept.result
fail.places:
  call void @decref(ptr %places)
  br label %fail
yes:
  ret i1 true
fail:
  ret i1 false
}

; Whether operations are recorded now, and this one is to be: 1, 0, or -1 for an error.
define internal i32 @records(ptr %table, ptr %op, ptr %array) nounwind {
entry:
  %found = alloca ptr
  %variable = call ptr @word_of(ptr %table, i64 41)
  %get = call ptr @word_of(ptr %table, i64 9)
  %failed = call i32 %get(ptr %variable, ptr null, ptr %found)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %error, label %look
look:
  %mode = load ptr, ptr %found
  %recording = call ptr @slot(ptr %table, ptr %mode, i64 42)
  call void @decref(ptr %mode)
  %true = call ptr @api_get(i64 13)
  %on = icmp eq ptr %recording, %true
  br i1 %on, label %kind, label %no
kind:                                         ; floats, complex numbers, bfloat16
  %descr = call ptr @field(ptr %array, i64 56)
  %kind.at = getelementptr i8, ptr %descr, i64 24
  %kind.is = load i8, ptr %kind.at
  switch i8 %kind.is, label %no [ i8 102, label %ask
                                  i8 99, label %ask
                                  i8 86, label %ask ]
ask:
  %answer = call i32 @says(ptr %table, ptr %op, i64 46)
  ret i32 %answer
no:
  ret i32 0
error:
  ret i32 -1
}

; A new tensor around an array, without a record; owned, or null.
define internal ptr @new_tensor(ptr %table, ptr %array) nounwind alwaysinline {
entry:
  %type = call ptr @word_of(ptr %table, i64 0)
  %make = call ptr @api_get(i64 15)
  %t = call ptr %make(ptr %type, i64 0)
  %bad = icmp eq ptr %t, null
  br i1 %bad, label %no, label %fill
fill:
  %none = call ptr @api_get(i64 16)
  %false = call ptr @api_get(i64 14)
  call void @set_shared(ptr %table, ptr %t, i64 15, ptr %false)
  call void @set_shared(ptr %table, ptr %t, i64 16, ptr %array)
  call void @set_shared(ptr %table, ptr %t, i64 17, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 18, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 19, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 20, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 40, ptr %none)
  ret ptr %t
no:
  ret ptr null
}

; Note that a new tensor looks into the memory of another, as `share` of core/storage/views.py does: 1,
; 0 where that has to look itself, or -1 for an error.
define internal i32 @share_memory(ptr %table, ptr %t, ptr %op, ptr %x) nounwind {
entry:
  %array = call ptr @slot(ptr %table, ptr %t, i64 16)
  %source = call ptr @slot(ptr %table, ptr %x, i64 16)
  %base = call ptr @field(ptr %array, i64 48)
  %direct = icmp eq ptr %base, %source
  br i1 %direct, label %alike, label %other
other:
  %source.base = call ptr @field(ptr %source, i64 48)
  %owned = icmp ne ptr %base, null
  %same = icmp eq ptr %base, %source.base
  %common = and i1 %owned, %same
  br i1 %common, label %alike, label %ask
alike:
  %counter = call ptr @counter_of(ptr %table, ptr %x)
  %no.counter = icmp eq ptr %counter, null
  br i1 %no.counter, label %fail, label %make
make:
  %type = call ptr @word_of(ptr %table, i64 51)
  %allocate = call ptr @api_get(i64 15)
  %view = call ptr %allocate(ptr %type, i64 0)
  %no.view = icmp eq ptr %view, null
  br i1 %no.view, label %fail, label %fill
fill:
  %items = call ptr @field(ptr %counter, i64 24)
  %seen = load ptr, ptr %items
  call void @set_shared(ptr %table, ptr %view, i64 52, ptr %x)
  call void @set_shared(ptr %table, ptr %view, i64 53, ptr %op)
  call void @set_shared(ptr %table, ptr %view, i64 54, ptr %seen)
  call void @put(ptr %table, ptr %t, i64 18, ptr %view)
  call void @put_shared(ptr %table, ptr %t, i64 19, ptr %counter)
  %joined = call i1 @join_family(ptr %table, ptr %counter, ptr %t)
  br i1 %joined, label %done, label %fail
done:
  ret i32 1
ask:
  ret i32 0
fail:
  ret i32 -1
}

define ptr @finished(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %triple = alloca [3 x ptr]
  %table = call ptr @field(ptr %self, i64 16)
  %three = icmp eq i64 %nargs, 3
  %positional = icmp eq ptr %names, null
  %usual = and i1 %three, %positional
  br i1 %usual, label %types, label %slow
types:
  %array = load ptr, ptr %args
  %op.at = getelementptr ptr, ptr %args, i64 1
  %op = load ptr, ptr %op.at
  %xs.at = getelementptr ptr, ptr %args, i64 2
  %xs = load ptr, ptr %xs.at
  %ndarray = call ptr @api_get(i64 2)
  %tuple = call ptr @api_get(i64 23)
  %array.type = call ptr @field(ptr %array, i64 8)
  %xs.type = call ptr @field(ptr %xs, i64 8)
  %is.array = icmp eq ptr %array.type, %ndarray
  %is.tuple = icmp eq ptr %xs.type, %tuple
  %fit = and i1 %is.array, %is.tuple
  br i1 %fit, label %begin, label %slow
begin:
  %n.at = getelementptr i8, ptr %xs, i64 16
  %n = load i64, ptr %n.at
  %true = call ptr @api_get(i64 13)
  %none = call ptr @api_get(i64 16)
  %t = call ptr @new_tensor(ptr %table, ptr %array)
  %bad = icmp eq ptr %t, null
  br i1 %bad, label %no, label %ask.view
ask.view:
  %view = call i32 @says(ptr %table, ptr %op, i64 45)
  switch i32 %view, label %fail [ i32 0, label %test
                                  i32 1, label %share ]
share:
  %base = call ptr @item(ptr %xs, i64 0)
  %noted = call i32 @share_memory(ptr %table, ptr %t, ptr %op, ptr %base)
  switch i32 %noted, label %fail [ i32 1, label %test
                                   i32 0, label %share.python ]
share.python:
  store ptr %t, ptr %triple
  %second = getelementptr ptr, ptr %triple, i64 1
  store ptr %op, ptr %second
  %third = getelementptr ptr, ptr %triple, i64 2
  store ptr %base, ptr %third
  %vectorcall = call ptr @api_get(i64 22)
  %sharing = call ptr @word_of(ptr %table, i64 44)
  %shared = call ptr %vectorcall(ptr %sharing, ptr %triple, i64 3, ptr null)
  %unshared = icmp eq ptr %shared, null
  br i1 %unshared, label %fail, label %looking
looking:
  call void @decref(ptr %shared)
  br label %test
test:
  %i = phi i64 [0, %ask.view], [0, %share], [0, %looking], [%i1, %look]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %look, label %done
look:
  %x = call ptr @item(ptr %xs, i64 %i)
  %flag = call ptr @slot(ptr %table, ptr %x, i64 15)
  %i1 = add i64 %i, 1
  %wants = icmp eq ptr %flag, %true
  br i1 %wants, label %recording, label %test
recording:
  %records = call i32 @records(ptr %table, ptr %op, ptr %array)
  switch i32 %records, label %fail [ i32 0, label %done
                                     i32 1, label %record ]
record:
  %two = icmp eq i64 %n, 2
  br i1 %two, label %pair, label %node
pair:                                         ; i is the place behind the first that wants a gradient
  %other.place = and i64 %i1, 1
  %other = call ptr @item(ptr %xs, i64 %other.place)
  %other.node = call ptr @slot(ptr %table, ptr %other, i64 17)
  %fresh = icmp eq ptr %other.node, %none
  br label %node
node:
  %new = phi i1 [false, %record], [%fresh, %pair]
  %made = call ptr @new_node(ptr %table, ptr %array, ptr %op, ptr %xs, i64 %n)
  %none.made = icmp eq ptr %made, null
  br i1 %none.made, label %fail, label %bind
bind:
  call void @put(ptr %table, ptr %t, i64 17, ptr %made)
  call void @put_shared(ptr %table, ptr %t, i64 15, ptr %true)
  %kept = call i1 @keep_what_is_read(ptr %table, ptr %t, ptr %op, ptr %xs, i64 %n, ptr %made, i1 %new)
  br i1 %kept, label %done, label %fail
done:
  ret ptr %t
fail:
  call void @decref(ptr %t)
  br label %no
no:
  ret ptr null
slow:
  %call = call ptr @api_get(i64 22)
  %handler = call ptr @word_of(ptr %table, i64 43)
  %answer = call ptr %call(ptr %handler, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}
