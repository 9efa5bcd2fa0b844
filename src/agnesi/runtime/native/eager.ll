; Three functions of eager operations.  `finished(data, op, xs)` of core/dispatch.py is the end of one: its
; result as a tensor, and the record of it where gradients flow.  What is said there of records holds
; here.  `replayed(plans, args, keywords)` of core/calls/plans.py finds the plan of a call, and runs it.
; `mapped(row, *operands)` of ops/base/elementwise.py is an operation that is a function of NumPy's.
;
; The self object of such a builtin holds, 16 bytes in (ctypes' b_ptr), the address of a table of words:
; addresses of C functions, objects, and offsets of slots, each by a name in braces behind "w:".  The
; table has the words that are named here, in the order in which they come, and `runtime/eager.py`
; fills it in by their names.  References are borrowed from its Python attributes.  A slot holds a
; reference of its own.

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
  %get = call ptr @word_of(ptr %table, i64 {w:PyObject_GetAttr})
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
  %test = call ptr @word_of(ptr %table, i64 {w:PyObject_IsTrue})
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

; The counter of changes of a tensor's memory, which is made where it was not needed yet; borrowed
; from the tensor, or null.
define internal ptr @counter_of(ptr %table, ptr %x) nounwind {
entry:
  %none = call ptr @api_get(i64 16)
  %had = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._version})
  %fresh = icmp eq ptr %had, %none
  br i1 %fresh, label %make, label %found
make:
  %new.list = call ptr @word_of(ptr %table, i64 {w:PyList_New})
  %list = call ptr %new.list(i64 1)
  %bad = icmp eq ptr %list, null
  br i1 %bad, label %no, label %fill
fill:
  %zero = call ptr @word_of(ptr %table, i64 {w:zero})
  %items = call ptr @field(ptr %list, i64 24)
  call void @incref(ptr %zero)
  store ptr %zero, ptr %items
  call void @put(ptr %table, ptr %x, i64 {w:Tensor._version}, ptr %list)
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
  %large = icmp ugt i64 %size, 31
  %size1 = sub i64 %size, 1
  %bits = and i64 %size, %size1
  %power = icmp eq i64 %bits, 0
  %many = and i1 %large, %power               ; what is gone is to be cleared away
  br i1 %many, label %register, label %refer
register:
  store ptr %family, ptr %pair
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %member, ptr %second
  %call = call ptr @api_get(i64 22)
  %function = call ptr @word_of(ptr %table, i64 {w:register})
  %done = call ptr %call(ptr %function, ptr %pair, i64 2, ptr null)
  %failed = icmp eq ptr %done, null
  br i1 %failed, label %no, label %drop
drop:
  call void @decref(ptr %done)
  ret i1 true
refer:
  %new.reference = call ptr @word_of(ptr %table, i64 {w:PyWeakref_NewRef})
  %reference = call ptr %new.reference(ptr %member, ptr null)
  %none = icmp eq ptr %reference, null
  br i1 %none, label %no, label %append
append:
  %put.last = call ptr @word_of(ptr %table, i64 {w:PyList_Append})
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
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  call void @put_shared(ptr %table, ptr %node, i64 {w:Node.value}, ptr %array)
  call void @put_shared(ptr %table, ptr %node, i64 {w:Node.version}, ptr %counter)
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
  %view = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._view})
  %plain = icmp eq ptr %view, %none
  br i1 %plain, label %look, label %seen
seen:                                         ; whether the base is as it was when the view was taken
  %counter = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._version})
  %numbers = call ptr @field(ptr %counter, i64 24)
  %last = load ptr, ptr %numbers
  %then = call ptr @slot(ptr %table, ptr %view, i64 {w:View.seen})
  %unchanged = icmp eq ptr %last, %then
  br i1 %unchanged, label %look, label %ask.view
look:
  %node = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.node})
  %missing = icmp eq ptr %node, %none
  br i1 %missing, label %ask, label %flag
flag:
  %flag.node = call ptr @slot(ptr %table, ptr %node, i64 {w:Node.requires_grad})
  %flag.own = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._requires_grad})
  %agree = icmp eq ptr %flag.node, %flag.own
  br i1 %agree, label %value, label %ask
value:
  %kept = call ptr @slot(ptr %table, ptr %node, i64 {w:Node.value})
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  %same = icmp eq ptr %kept, %array
  br i1 %same, label %yes, label %computed
computed:
  %op = call ptr @slot(ptr %table, ptr %node, i64 {w:Node.op})
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
  %which = phi i64 [{w:current}, %ask.view], [{w:node_of}, %look], [{w:node_of}, %flag], [{w:node_of}, %computed]
  %function = call ptr @word_of(ptr %table, i64 %which)
  %call = call ptr @api_get(i64 21)
  %found = call ptr %call(ptr %function, ptr %x)
  ret ptr %found
}

; The user's code object and instruction, as `record` of core/dispatch.py finds them; owned, or null.
define internal ptr @users_line(ptr %table) nounwind {
entry:
  %depth = alloca ptr
  %one = call ptr @word_of(ptr %table, i64 {w:one})
  store ptr %one, ptr %depth
  %get.frame = call ptr @word_of(ptr %table, i64 {w:_getframe})
  %vectorcall = call ptr @api_get(i64 22)
  %first = call ptr %vectorcall(ptr %get.frame, ptr %depth, i64 1, ptr null)
  br label %test
test:
  %frame = phi ptr [%first, %entry], [%back, %outer]
  %end = icmp eq ptr %frame, null
  br i1 %end, label %nowhere, label %look
look:
  %get.code = call ptr @word_of(ptr %table, i64 {w:PyFrame_GetCode})
  %code = call ptr %get.code(ptr %frame)      ; never null
  %file = call ptr @attribute(ptr %table, ptr %code, i64 {w:.co_filename})
  %unknown = icmp eq ptr %file, null
  br i1 %unknown, label %fail, label %theirs
theirs:
  %contains = call ptr @word_of(ptr %table, i64 {w:PySet_Contains})
  %theirs.set = call ptr @word_of(ptr %table, i64 {w:USER_FILES})
  %is.theirs = call i32 %contains(ptr %theirs.set, ptr %file)
  %found = icmp eq i32 %is.theirs, 1
  br i1 %found, label %here, label %met
met:
  %met.set = call ptr @word_of(ptr %table, i64 {w:LIBRARY_FILES})
  %is.met = call i32 %contains(ptr %met.set, ptr %file)
  %known = icmp eq i32 %is.met, 1
  br i1 %known, label %outer, label %ask
ask:
  %ours = call ptr @word_of(ptr %table, i64 {w:ours})
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
  %get.back = call ptr @word_of(ptr %table, i64 {w:PyFrame_GetBack})
  %back = call ptr %get.back(ptr %frame)
  call void @decref(ptr %frame)
  br label %test
here:
  call void @decref(ptr %file)
  %get.instruction = call ptr @word_of(ptr %table, i64 {w:PyFrame_GetLasti})
  %instruction = call i32 %get.instruction(ptr %frame)
  call void @decref(ptr %frame)
  %wide = sext i32 %instruction to i64
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
  %text = call ptr @word_of(ptr %table, i64 {w:nothing})
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
  br i1 %none.shape, label %drop.inputs, label %find.line
find.line:
  %where = call ptr @users_line(ptr %table)
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
  %type = call ptr @word_of(ptr %table, i64 {w:Node})
  %make = call ptr @api_get(i64 15)
  %node = call ptr %make(ptr %type, i64 0)
  %none.node = icmp eq ptr %node, null
  br i1 %none.node, label %drop.serial, label %fill
fill:
  %none = call ptr @api_get(i64 16)
  %true = call ptr @api_get(i64 13)
  %false = call ptr @api_get(i64 14)
  %descr = call ptr @field(ptr %array, i64 56)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.op}, ptr %op)
  call void @set(ptr %table, ptr %node, i64 {w:Node.inputs}, ptr %inputs)
  call void @set(ptr %table, ptr %node, i64 {w:Node.shape}, ptr %shape)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.dtype}, ptr %descr)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.weak}, ptr %false)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.requires_grad}, ptr %true)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.value}, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.version}, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.handle}, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.name}, ptr %none)
  call void @set_shared(ptr %table, ptr %node, i64 {w:Node.outputs}, ptr %none)
  call void @set(ptr %table, ptr %node, i64 {w:Node.where}, ptr %where)
  call void @set(ptr %table, ptr %node, i64 {w:Node.serial}, ptr %serial)
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
  %inputs = call ptr @slot(ptr %table, ptr %node, i64 {w:Node.inputs})
  %two = icmp eq i64 %n, 2
  br i1 %two, label %pair, label %usual
pair:
  %a = call ptr @item(ptr %xs, i64 0)
  %b = call ptr @item(ptr %xs, i64 1)
  %a.flag = call ptr @slot(ptr %table, ptr %a, i64 {w:Tensor._requires_grad})
  %b.flag = call ptr @slot(ptr %table, ptr %b, i64 {w:Tensor._requires_grad})
  %a.wants = icmp eq ptr %a.flag, %true
  %b.wants = icmp eq ptr %b.flag, %true
  %both = and i1 %a.wants, %b.wants
  %last = zext i1 %a.wants to i64             ; the index of the operand without a gradient
  br i1 %both, label %usual, label %single
single:
  %choices = call ptr @attribute(ptr %table, ptr %op, i64 {w:.kept_by_one})
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
  %kept = call ptr @attribute(ptr %table, ptr %op, i64 {w:.keep_inputs})
  %no.kept = icmp eq ptr %kept, null
  br i1 %no.kept, label %fail, label %loop
loop:
  %positions = phi ptr [%choice, %chosen], [%kept, %usual]
  %one = phi i1 [true, %chosen], [%is.one, %usual]
  %other = phi i64 [%last, %chosen], [%usual.last, %usual]
  %may.drop = phi i1 [%new, %chosen], [false, %usual]
  %all = icmp eq ptr %positions, %none
  %size.at = getelementptr i8, ptr %positions, i64 16
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
  %object = call ptr @item(ptr %positions, i64 %i)
  %told = call i64 %as.long(ptr %object)
  br label %keep
keep:
  %position = phi i64 [%i, %which], [%told, %number]
  %x = call ptr @item(ptr %xs, i64 %position)
  %source = call ptr @item(ptr %inputs, i64 %position)
  %ok = call i1 @keep_value(ptr %table, ptr %x, ptr %source)
  br i1 %ok, label %next, label %fail.positions
next:
  %same = icmp eq i64 %position, %other
  %differs = xor i1 %same, true
  %drop1 = and i1 %drop, %differs
  %i1 = add i64 %i, 1
  br label %test
read:
  call void @decref(ptr %positions)
  br i1 %drop, label %forget, label %result
forget:                                       ; the value of a new leaf, which no rule reads
  %unread = call ptr @item(ptr %xs, i64 %other)
  %unread.view = call ptr @slot(ptr %table, ptr %unread, i64 {w:Tensor._view})
  %own = icmp eq ptr %unread.view, %none
  br i1 %own, label %sized.leaf, label %result
sized.leaf:
  %unread.array = call ptr @slot(ptr %table, ptr %unread, i64 {w:Tensor.array})
  %unread.size = call i64 @elements_of(ptr %unread.array)
  %large = icmp ugt i64 %unread.size, {leaf_elements}
  br i1 %large, label %empty.leaf, label %result
empty.leaf:
  %leaf = call ptr @item(ptr %inputs, i64 %other)
  call void @put_shared(ptr %table, ptr %leaf, i64 {w:Node.value}, ptr %none)
  br label %result
result:
  %wanted = call i32 @says(ptr %table, ptr %op, i64 {w:.keep_output})
  switch i32 %wanted, label %fail [ i32 0, label %yes
                                    i32 1, label %whose ]
whose:
  br i1 %one, label %by.one, label %keep.result
by.one:
  %flags = call ptr @attribute(ptr %table, ptr %op, i64 {w:.result_by_one})
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
fail.positions:
  call void @decref(ptr %positions)
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
  %variable = call ptr @word_of(ptr %table, i64 {w:MODE})
  %get = call ptr @word_of(ptr %table, i64 {w:PyContextVar_Get})
  %failed = call i32 %get(ptr %variable, ptr null, ptr %found)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %error, label %look
look:
  %mode = load ptr, ptr %found
  %recording = call ptr @slot(ptr %table, ptr %mode, i64 {w:Mode.recording})
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
  %answer = call i32 @says(ptr %table, ptr %op, i64 {w:.differentiable})
  ret i32 %answer
no:
  ret i32 0
error:
  ret i32 -1
}

; A new tensor around an array, without a record; owned, or null.
define internal ptr @new_tensor(ptr %table, ptr %array) nounwind alwaysinline {
entry:
  %type = call ptr @word_of(ptr %table, i64 {w:Tensor})
  %make = call ptr @api_get(i64 15)
  %t = call ptr %make(ptr %type, i64 0)
  %bad = icmp eq ptr %t, null
  br i1 %bad, label %no, label %fill
fill:
  %none = call ptr @api_get(i64 16)
  %false = call ptr @api_get(i64 14)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor._requires_grad}, ptr %false)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor.array}, ptr %array)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor.node}, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor._view}, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor._version}, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor._grad}, ptr %none)
  call void @set_shared(ptr %table, ptr %t, i64 {w:Tensor._name}, ptr %none)
  ret ptr %t
no:
  ret ptr null
}

; Note that a new tensor looks into the memory of another, as `share` of core/storage/views.py does: 1,
; 0 where that has to look itself, or -1 for an error.
define internal i32 @share_memory(ptr %table, ptr %t, ptr %op, ptr %x) nounwind {
entry:
  %array = call ptr @slot(ptr %table, ptr %t, i64 {w:Tensor.array})
  %source = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
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
  %type = call ptr @word_of(ptr %table, i64 {w:View})
  %allocate = call ptr @api_get(i64 15)
  %view = call ptr %allocate(ptr %type, i64 0)
  %no.view = icmp eq ptr %view, null
  br i1 %no.view, label %fail, label %fill
fill:
  %items = call ptr @field(ptr %counter, i64 24)
  %seen = load ptr, ptr %items
  call void @set_shared(ptr %table, ptr %view, i64 {w:View.base}, ptr %x)
  call void @set_shared(ptr %table, ptr %view, i64 {w:View.op}, ptr %op)
  call void @set_shared(ptr %table, ptr %view, i64 {w:View.seen}, ptr %seen)
  call void @put(ptr %table, ptr %t, i64 {w:Tensor._view}, ptr %view)
  call void @put_shared(ptr %table, ptr %t, i64 {w:Tensor._version}, ptr %counter)
  %joined = call i1 @join_family(ptr %table, ptr %counter, ptr %t)
  br i1 %joined, label %done, label %fail
done:
  ret i32 1
ask:
  ret i32 0
fail:
  ret i32 -1
}

; The tensor of an operation's result, recorded where gradients flow; owned, or null.
define internal ptr @finish(ptr %table, ptr %array, ptr %op, ptr %xs) nounwind {
entry:
  %triple = alloca [3 x ptr]
  %n.at = getelementptr i8, ptr %xs, i64 16
  %n = load i64, ptr %n.at
  %true = call ptr @api_get(i64 13)
  %none = call ptr @api_get(i64 16)
  %t = call ptr @new_tensor(ptr %table, ptr %array)
  %bad = icmp eq ptr %t, null
  br i1 %bad, label %no, label %ask.view
ask.view:
  %view = call i32 @says(ptr %table, ptr %op, i64 {w:.view})
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
  %sharing = call ptr @word_of(ptr %table, i64 {w:share})
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
  %flag = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._requires_grad})
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
pair:                                         ; i is the index behind the first that wants a gradient
  %other.index = and i64 %i1, 1
  %other = call ptr @item(ptr %xs, i64 %other.index)
  %other.node = call ptr @slot(ptr %table, ptr %other, i64 {w:Tensor.node})
  %fresh = icmp eq ptr %other.node, %none
  br label %node
node:
  %new = phi i1 [false, %record], [%fresh, %pair]
  %made = call ptr @new_node(ptr %table, ptr %array, ptr %op, ptr %xs, i64 %n)
  %none.made = icmp eq ptr %made, null
  br i1 %none.made, label %fail, label %bind
bind:
  call void @put(ptr %table, ptr %t, i64 {w:Tensor.node}, ptr %made)
  call void @put_shared(ptr %table, ptr %t, i64 {w:Tensor._requires_grad}, ptr %true)
  %kept = call i1 @keep_what_is_read(ptr %table, ptr %t, ptr %op, ptr %xs, i64 %n, ptr %made, i1 %new)
  br i1 %kept, label %done, label %fail
done:
  ret ptr %t
fail:
  call void @decref(ptr %t)
  br label %no
no:
  ret ptr null
}

define ptr @finished(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
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
  %t = call ptr @finish(ptr %table, ptr %array, ptr %op, ptr %xs)
  ret ptr %t
slow:
  %call = call ptr @api_get(i64 22)
  %handler = call ptr @word_of(ptr %table, i64 {w:finished})
  %answer = call ptr %call(ptr %handler, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}

; What a call is known by while it is written down: how many words there are, how many operands, the
; words, and the operands, borrowed from the arguments.
%Known = type { i64, i64, [224 x i64], [16 x ptr] }

define internal void @note_word(ptr %known, i64 %word) nounwind alwaysinline {
  %count = load i64, ptr %known
  %at = getelementptr %Known, ptr %known, i64 0, i32 2, i64 %count
  store i64 %word, ptr %at
  %more = add i64 %count, 1
  store i64 %more, ptr %known
  ret void
}

; A kind of argument, with a number; then the words that follow tell it apart from all of its kind.
define internal void @note_kind(ptr %known, i64 %kind, i64 %number) nounwind alwaysinline {
  %high = shl i64 %number, 8
  %word = or i64 %high, %kind
  call void @note_word(ptr %known, i64 %word)
  ret void
}

; The number of a plain dtype in the machine's order of bytes, which tells it apart; else -1.
define internal i64 @number_of_dtype(ptr %descr) nounwind alwaysinline {
  %order.at = getelementptr i8, ptr %descr, i64 26
  %order = load i8, ptr %order.at
  %number.at = getelementptr i8, ptr %descr, i64 28
  %number = load i32, ptr %number.at
  %plain = icmp ult i32 %number, 17           ; from bool to complex, and half
  %half = icmp eq i32 %number, 23
  %simple = or i1 %plain, %half
  %native = icmp ne i8 %order, {swapped}
  %told = and i1 %simple, %native
  %number64 = zext i32 %number to i64
  %found = select i1 %told, i64 %number64, i64 -1
  ret i64 %found
}

; An operand by its type and how it is laid out in memory; false where Python has to look.
define internal i1 @note_tensor(ptr %table, ptr %known, ptr %x) nounwind {
entry:
  %ndarray = call ptr @api_get(i64 2)
  %true = call ptr @api_get(i64 13)
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  %type = call ptr @field(ptr %array, i64 8)
  %valued = icmp eq ptr %type, %ndarray
  %xs.at = getelementptr %Known, ptr %known, i64 0, i32 1
  %count = load i64, ptr %xs.at
  %room = icmp ult i64 %count, 16
  %fits = and i1 %valued, %room
  br i1 %fits, label %look, label %no
look:
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd32 = load i32, ptr %nd.at
  %nd = zext i32 %nd32 to i64
  %descr = call ptr @field(ptr %array, i64 56)
  %number64 = call i64 @number_of_dtype(ptr %descr)
  %few = icmp ult i64 %nd, 9
  %known.type = icmp sge i64 %number64, 0
  %told = and i1 %known.type, %few
  br i1 %told, label %write, label %no
write:
  %flag = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._requires_grad})
  %wants = icmp eq ptr %flag, %true
  %wants64 = zext i1 %wants to i64
  %axes.high = shl i64 %nd, 16
  %flag.high = shl i64 %wants64, 8
  %parts = or i64 %axes.high, %flag.high
  %about = or i64 %parts, %number64
  call void @note_kind(ptr %known, i64 1, i64 %about)
  %entry.at = getelementptr %Known, ptr %known, i64 0, i32 3, i64 %count
  store ptr %x, ptr %entry.at
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %xs.at
  %dims = call ptr @field(ptr %array, i64 32)
  %strides = call ptr @field(ptr %array, i64 40)
  br label %test
test:
  %i = phi i64 [0, %write], [%i1, %axis]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %axis, label %yes
axis:
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %dim = load i64, ptr %dim.at
  call void @note_word(ptr %known, i64 %dim)
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.at
  call void @note_word(ptr %known, i64 %stride)
  %i1 = add i64 %i, 1
  br label %test
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @note_text(ptr %table, ptr %known, ptr %text) nounwind {
entry:
  %size.at = alloca i64
  %get = call ptr @word_of(ptr %table, i64 {w:PyUnicode_AsUTF8AndSize})
  %bytes = call ptr %get(ptr %text, ptr %size.at)
  %bad = icmp eq ptr %bytes, null
  br i1 %bad, label %clear, label %look
clear:
  %forget = call ptr @api_get(i64 12)
  call void %forget()
  ret i1 false
look:
  %size = load i64, ptr %size.at
  %short = icmp ult i64 %size, 65
  br i1 %short, label %write, label %no
write:
  call void @note_kind(ptr %known, i64 8, i64 %size)
  %count = load i64, ptr %known
  %at = getelementptr %Known, ptr %known, i64 0, i32 2, i64 %count
  %rounded = add i64 %size, 7
  %words = lshr i64 %rounded, 3
  %whole = shl i64 %words, 3
  call void @llvm.memset.p0.i64(ptr %at, i8 0, i64 %whole, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %bytes, i64 %size, i1 false)
  %after = add i64 %count, %words
  store i64 %after, ptr %known
  ret i1 true
no:
  ret i1 false
}

; Arguments, as `signature` of core/calls/plans.py; false where it has to look itself.
define internal i1 @note_all(ptr %table, ptr %known, ptr %items, i64 %n, i1 %nested) nounwind {
entry:
  %true = call ptr @api_get(i64 13)
  %false = call ptr @api_get(i64 14)
  %none = call ptr @api_get(i64 16)
  %int = call ptr @api_get(i64 8)
  %float = call ptr @api_get(i64 7)
  %tuple = call ptr @api_get(i64 23)
  %tensor = call ptr @word_of(ptr %table, i64 {w:Tensor})
  %str = call ptr @word_of(ptr %table, i64 {w:str})
  %list = call ptr @word_of(ptr %table, i64 {w:list})
  %slice = call ptr @word_of(ptr %table, i64 {w:slice})
  %ellipsis = call ptr @word_of(ptr %table, i64 {w:Ellipsis})
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %next]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %yes
one:
  %count = load i64, ptr %known
  %room = icmp ult i64 %count, 200            ; no argument by itself takes more than 18 words
  br i1 %room, label %look, label %no
look:
  %at = getelementptr ptr, ptr %items, i64 %i
  %x = load ptr, ptr %at
  %type = call ptr @field(ptr %x, i64 8)
  %is.tensor = icmp eq ptr %type, %tensor
  br i1 %is.tensor, label %a.tensor, label %try.int
a.tensor:
  %noted.tensor = call i1 @note_tensor(ptr %table, ptr %known, ptr %x)
  br i1 %noted.tensor, label %next, label %no
try.int:
  %is.int = icmp eq ptr %type, %int
  br i1 %is.int, label %an.int, label %try.none
an.int:
  %as.long = call ptr @api_get(i64 10)
  %value = call i64 %as.long(ptr %x)
  %odd = icmp eq i64 %value, -1
  br i1 %odd, label %ask, label %a.value
ask:
  %occurred = call ptr @api_get(i64 11)
  %error = call ptr %occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %a.value, label %clear
clear:
  %forget = call ptr @api_get(i64 12)
  call void %forget()
  br label %no
a.value:
  call void @note_kind(ptr %known, i64 2, i64 0)
  call void @note_word(ptr %known, i64 %value)
  br label %next
try.none:
  %is.none = icmp eq ptr %x, %none
  br i1 %is.none, label %single, label %try.true
try.true:
  %is.true = icmp eq ptr %x, %true
  br i1 %is.true, label %single, label %try.false
try.false:
  %is.false = icmp eq ptr %x, %false
  br i1 %is.false, label %single, label %try.dots
try.dots:
  %is.dots = icmp eq ptr %x, %ellipsis
  br i1 %is.dots, label %single, label %try.tuple
single:
  %kind = phi i64 [4, %try.none], [5, %try.true], [6, %try.false], [7, %try.dots]
  call void @note_kind(ptr %known, i64 %kind, i64 0)
  br label %next
try.tuple:
  %is.tuple = icmp eq ptr %type, %tuple
  %inside = getelementptr i8, ptr %x, i64 {items}
  br i1 %is.tuple, label %several, label %try.list
try.list:
  %is.list = icmp eq ptr %type, %list
  br i1 %is.list, label %a.list, label %try.float
a.list:
  %held = call ptr @field(ptr %x, i64 24)
  br label %several
several:
  %elements = phi ptr [%inside, %try.tuple], [%held, %a.list]
  %kind.several = phi i64 [9, %try.tuple], [10, %a.list]
  %size.at = getelementptr i8, ptr %x, i64 16
  %size = load i64, ptr %size.at
  %long = icmp ugt i64 %size, 64
  %refused = or i1 %long, %nested
  br i1 %refused, label %no, label %each
each:
  call void @note_kind(ptr %known, i64 %kind.several, i64 %size)
  %noted.all = call i1 @note_all(ptr %table, ptr %known, ptr %elements, i64 %size, i1 true)
  br i1 %noted.all, label %next, label %no
try.float:
  %is.float = icmp eq ptr %type, %float
  br i1 %is.float, label %a.float, label %try.slice
a.float:
  %bits.at = getelementptr i8, ptr %x, i64 16
  %bits = load i64, ptr %bits.at
  call void @note_kind(ptr %known, i64 3, i64 0)
  call void @note_word(ptr %known, i64 %bits)
  br label %next
try.slice:
  %is.slice = icmp eq ptr %type, %slice
  br i1 %is.slice, label %a.slice, label %try.text
a.slice:                                      ; start, stop and step
  %ends = getelementptr i8, ptr %x, i64 16
  call void @note_kind(ptr %known, i64 11, i64 0)
  %noted.ends = call i1 @note_all(ptr %table, ptr %known, ptr %ends, i64 3, i1 true)
  br i1 %noted.ends, label %next, label %no
try.text:
  %is.text = icmp eq ptr %type, %str
  br i1 %is.text, label %a.text, label %try.dtype
try.dtype:
  %meta = call ptr @field(ptr %type, i64 8)
  %meta.dtype = call ptr @word_of(ptr %table, i64 {w:dtypes})
  %is.dtype = icmp eq ptr %meta, %meta.dtype
  br i1 %is.dtype, label %a.dtype, label %no
a.dtype:
  %about = call i64 @number_of_dtype(ptr %x)
  %foreign = icmp slt i64 %about, 0
  br i1 %foreign, label %no, label %note.dtype
note.dtype:
  call void @note_kind(ptr %known, i64 12, i64 %about)
  br label %next
a.text:
  %noted.text = call i1 @note_text(ptr %table, ptr %known, ptr %x)
  br i1 %noted.text, label %next, label %no
next:
  %i1 = add i64 %i, 1
  br label %test
yes:
  ret i1 true
no:
  ret i1 false
}

; A view of an array, which is in it as the words say (`_layout` of compiler/plans.py); owned, or null
; with an error set.
define internal ptr @view_of(ptr %table, ptr %array, ptr %layout) nounwind {
entry:
  %words = getelementptr i8, ptr %layout, i64 {bytes}
  %may = load i64, ptr %words, align 1
  %offset.at = getelementptr i64, ptr %words, i64 1
  %offset = load i64, ptr %offset.at, align 1
  %nd.at = getelementptr i64, ptr %words, i64 2
  %nd = load i64, ptr %nd.at, align 1
  %dims = getelementptr i64, ptr %words, i64 3
  %strides = getelementptr i64, ptr %dims, i64 %nd
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags = load i32, ptr %flags.at
  %writeable = and i32 %flags, 1024           ; NPY_ARRAY_WRITEABLE
  %kept = icmp ne i64 %may, 0
  %own.flags = select i1 %kept, i32 %writeable, i32 0
  %data = call ptr @field(ptr %array, i64 16)
  %first = getelementptr i8, ptr %data, i64 %offset
  %descr = call ptr @field(ptr %array, i64 56)
  %type = call ptr @api_get(i64 2)
  %make = call ptr @api_get(i64 3)
  %nd32 = trunc i64 %nd to i32
  call void @incref(ptr %descr)
  ; steals %descr, also where it fails
  %view = call ptr %make(ptr %type, ptr %descr, i32 %nd32, ptr %dims, ptr %strides, ptr %first, i32 %own.flags, ptr null)
  %none = icmp eq ptr %view, null
  br i1 %none, label %no, label %base
base:
  call void @incref(ptr %array)
  %set.base = call ptr @word_of(ptr %table, i64 {w:PyArray_SetBaseObject})
  ; steals %array, also where it fails
  %error = call i32 %set.base(ptr %view, ptr %array)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %drop, label %yes
drop:
  call void @decref(ptr %view)
  ret ptr null
yes:
  ret ptr %view
no:
  ret ptr null
}

; What the C function of a step gives, a view as it is in memory, or the stock of a draw, without NumPy's warnings: %arguments has room for those behind
; the first %n, which the function takes besides.  Owned; null with an error set, or with none where
; the context is in use: by another thread, or by this one further out.
define internal ptr @call_directly(ptr %table, ptr %direct, ptr %arguments, i64 %n) nounwind {
entry:
  %context = call ptr @word_of(ptr %table, i64 {w:silent})
  %none = call ptr @api_get(i64 16)
  %function = call ptr @item(ptr %direct, i64 0)
  %others = call ptr @item(ptr %direct, i64 1)
  %own = icmp eq ptr %function, %none
  br i1 %own, label %ready, label %begin
ready:
  %known = call ptr @item(ptr %others, i64 0)
  %known.type = call ptr @field(ptr %known, i64 8)
  %bytes = call ptr @word_of(ptr %table, i64 {w:bytes})
  %lies = icmp eq ptr %known.type, %bytes
  br i1 %lies, label %look.into, label %draw.it
look.into:
  %array = load ptr, ptr %arguments
  %view = call ptr @view_of(ptr %table, ptr %array, ptr %known)
  ret ptr %view
draw.it:                                      ; which reads the mode of this context
  %drawn = call ptr @draw(ptr %table, ptr %known)
  ret ptr %drawn
begin:
  %count.at = getelementptr i8, ptr %others, i64 16
  %count = load i64, ptr %count.at
  br label %test
test:
  %i = phi i64 [0, %begin], [%i1, %take]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %take, label %enter
take:
  %other = call ptr @item(ptr %others, i64 %i)
  %number = add i64 %n, %i
  %at = getelementptr ptr, ptr %arguments, i64 %number
  store ptr %other, ptr %at
  %i1 = add i64 %i, 1
  br label %test
enter:
  %enter.it = call ptr @word_of(ptr %table, i64 {w:PyContext_Enter})
  %refused = call i32 %enter.it(ptr %context)
  %busy = icmp ne i32 %refused, 0
  br i1 %busy, label %clear, label %run
clear:
  %forget = call ptr @api_get(i64 12)
  call void %forget()
  ret ptr null
run:
  %all = add i64 %n, %count
  %call = call ptr @api_get(i64 22)
  %data = call ptr %call(ptr %function, ptr %arguments, i64 %all, ptr null)
  %leave.it = call ptr @word_of(ptr %table, i64 {w:PyContext_Exit})
  %left = call i32 %leave.it(ptr %context)
  ret ptr %data
}

; The result of an operation on operands with values, which takes no time; owned, or null.
define internal ptr @run_operation(ptr %table, ptr %op, ptr %xs, ptr %direct) nounwind {
entry:
  %call.args = alloca [17 x ptr]
  %pair = alloca [2 x ptr]
  %ndarray = call ptr @api_get(i64 2)
  %none = call ptr @api_get(i64 16)
  %n.at = getelementptr i8, ptr %xs, i64 16
  %n = load i64, ptr %n.at
  store ptr %op, ptr %call.args
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %take]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i, %n
  br i1 %more, label %take, label %run
take:
  %x = call ptr @item(ptr %xs, i64 %i)
  %operand = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  call void @incref(ptr %operand)
  %operand.at = getelementptr ptr, ptr %call.args, i64 %i1
  store ptr %operand, ptr %operand.at
  br label %test
run:
  %indirect = icmp eq ptr %direct, %none
  br i1 %indirect, label %by.method, label %directly
directly:
  %arrays = getelementptr ptr, ptr %call.args, i64 1
  %found = call ptr @call_directly(ptr %table, ptr %direct, ptr %arrays, i64 %n)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %why, label %drop.test
why:
  %occurred = call ptr @api_get(i64 11)
  %error = call ptr %occurred()
  %busy = icmp eq ptr %error, null
  br i1 %busy, label %by.method, label %drop.test
by.method:
  %method = call ptr @word_of(ptr %table, i64 {w:PyObject_VectorcallMethod})
  %perform = call ptr @word_of(ptr %table, i64 {w:.perform})
  %performed = call ptr %method(ptr %perform, ptr %call.args, i64 %i1, ptr null)
  br label %drop.test
drop.test:
  %data = phi ptr [%found, %directly], [null, %why], [%performed, %by.method]
  br label %drop.next
drop.next:
  %j = phi i64 [1, %drop.test], [%j1, %drop]
  %left = icmp ult i64 %j, %i1
  br i1 %left, label %drop, label %computed
drop:
  %held.at = getelementptr ptr, ptr %call.args, i64 %j
  %held = load ptr, ptr %held.at
  call void @decref(ptr %held)
  %j1 = add i64 %j, 1
  br label %drop.next
computed:
  %bad = icmp eq ptr %data, null
  br i1 %bad, label %no, label %typed
typed:
  %type = call ptr @field(ptr %data, i64 8)
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %order, label %scalar
scalar:                                       ; one of NumPy's
  br i1 %indirect, label %convert, label %array.of
array.of:
  %as.array = call ptr @word_of(ptr %table, i64 {w:PyArray_FromAny})
  %wrapped = call ptr %as.array(ptr %data, ptr null, i32 0, i32 0, i32 0, ptr null)
  call void @decref(ptr %data)
  %unwrapped = icmp eq ptr %wrapped, null
  br i1 %unwrapped, label %no, label %finish
order:
  %flags.at = getelementptr i8, ptr %data, i64 64
  %flags = load i32, ptr %flags.at
  %rows = and i32 %flags, 1                   ; NPY_ARRAY_C_CONTIGUOUS
  %in.order = icmp ne i32 %rows, 0
  br i1 %in.order, label %finish, label %convert
convert:
  store ptr %op, ptr %pair
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %data, ptr %second
  %call = call ptr @api_get(i64 22)
  %laid = call ptr @word_of(ptr %table, i64 {w:laid})
  %other = call ptr %call(ptr %laid, ptr %pair, i64 2, ptr null)
  call void @decref(ptr %data)
  %unlaid = icmp eq ptr %other, null
  br i1 %unlaid, label %no, label %finish
finish:
  %array = phi ptr [%data, %order], [%wrapped, %array.of], [%other, %convert]
  %t = call ptr @finish(ptr %table, ptr %array, ptr %op, ptr %xs)
  call void @decref(ptr %array)
  ret ptr %t
no:
  ret ptr null
}

; A view of one element that is taken out of what it looks into, as `taken` of core/storage/views.py:
; the reference is taken over and given back; null with an error set.
define internal ptr @take_element(ptr %table, ptr %t) nounwind {
entry:
  %none = call ptr @api_get(i64 16)
  %view = call ptr @slot(ptr %table, ptr %t, i64 {w:Tensor._view})
  %plain = icmp eq ptr %view, %none
  br i1 %plain, label %done, label %copy
copy:
  %array = call ptr @slot(ptr %table, ptr %t, i64 {w:Tensor.array})
  %copy.it = call ptr @word_of(ptr %table, i64 {w:PyArray_NewCopy})
  %own = call ptr %copy.it(ptr %array, i32 0)
  %bad = icmp eq ptr %own, null
  br i1 %bad, label %no, label %leave
leave:                                        ; it is the last of the family
  %family = call ptr @slot(ptr %table, ptr %t, i64 {w:Tensor._version})
  %size.at = getelementptr i8, ptr %family, i64 16
  %size = load i64, ptr %size.at
  %last = sub i64 %size, 1
  %cut = call ptr @word_of(ptr %table, i64 {w:PyList_SetSlice})
  %error = call i32 %cut(ptr %family, i64 %last, i64 %size, ptr null)
  call void @put_shared(ptr %table, ptr %t, i64 {w:Tensor._element}, ptr %view)
  call void @put_shared(ptr %table, ptr %t, i64 {w:Tensor._view}, ptr %none)
  call void @put_shared(ptr %table, ptr %t, i64 {w:Tensor._version}, ptr %none)
  call void @put(ptr %table, ptr %t, i64 {w:Tensor.array}, ptr %own)
  br label %done
done:
  ret ptr %t
no:
  call void @decref(ptr %t)
  ret ptr null
}

; An operand as a compiled region takes it, owned, or null: turned as the plan says, and another tensor
; where it was an operand before, or requires a gradient, which is not recorded here.
define internal ptr @region_operand(ptr %table, ptr %known, i64 %i, ptr %layout) nounwind {
entry:
  %none = call ptr @api_get(i64 16)
  %x.at = getelementptr %Known, ptr %known, i64 0, i32 3, i64 %i
  %x = load ptr, ptr %x.at
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  %as.it.lies = icmp eq ptr %layout, %none
  br i1 %as.it.lies, label %flagged, label %turn
flagged:
  %flag = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._requires_grad})
  %true = call ptr @api_get(i64 13)
  %requires = icmp eq ptr %flag, %true
  br i1 %requires, label %twin, label %before
turn:
  %view = call ptr @view_of(ptr %table, ptr %array, ptr %layout)
  %no.view = icmp eq ptr %view, null
  br i1 %no.view, label %no, label %turned
turned:
  %t = call ptr @new_tensor(ptr %table, ptr %view)
  call void @decref(ptr %view)
  ret ptr %t
before:
  %j = phi i64 [0, %flagged], [%j1, %compare]
  %j1 = add i64 %j, 1
  %more = icmp ult i64 %j, %i
  br i1 %more, label %compare, label %itself
compare:
  %y.at = getelementptr %Known, ptr %known, i64 0, i32 3, i64 %j
  %y = load ptr, ptr %y.at
  %same = icmp eq ptr %x, %y
  br i1 %same, label %twin, label %before
twin:
  %other = call ptr @new_tensor(ptr %table, ptr %array)
  ret ptr %other
itself:
  call void @incref(ptr %x)
  ret ptr %x
no:
  ret ptr null
}

; What a compiled region gives; owned, or null.
define internal ptr @run_region(ptr %table, ptr %plan, ptr %direct, ptr %known) nounwind {
entry:
  %xs = alloca [16 x ptr]                     ; as many as %Known has
  %none = call ptr @api_get(i64 16)
  %n.at = getelementptr %Known, ptr %known, i64 0, i32 1
  %n = load i64, ptr %n.at
  %turned = call ptr @slot(ptr %table, ptr %plan, i64 {w:RegionPlan.layouts})
  %build = call ptr @slot(ptr %table, ptr %plan, i64 {w:RegionPlan.build})
  call void @incref(ptr %build)
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %put]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i, %n
  br i1 %more, label %take, label %run
take:
  %layout = call ptr @item(ptr %turned, i64 %i)
  %x = call ptr @region_operand(ptr %table, ptr %known, i64 %i, ptr %layout)
  %missing = icmp eq ptr %x, null
  br i1 %missing, label %drop.test, label %put
put:
  %to = getelementptr ptr, ptr %xs, i64 %i
  store ptr %x, ptr %to
  br label %test
run:
  %call = call ptr @api_get(i64 22)
  call void @incref(ptr %direct)
  %found = call ptr %call(ptr %direct, ptr %xs, i64 %n, ptr null)
  call void @decref(ptr %direct)
  %bad = icmp eq ptr %found, null
  br i1 %bad, label %drop.test, label %which
which:
  %single = icmp eq ptr %build, %none
  br i1 %single, label %one, label %several
one:
  %t = call ptr @item(ptr %found, i64 0)
  call void @incref(ptr %t)
  br label %end
several:
  %make = call ptr @api_get(i64 21)
  %built = call ptr %make(ptr %build, ptr %found)
  br label %end
end:
  %result = phi ptr [%t, %one], [%built, %several]
  call void @decref(ptr %found)
  br label %drop.test
drop.test:
  %answer = phi ptr [null, %take], [null, %run], [%result, %end]
  call void @decref(ptr %build)
  br label %drop.next
drop.next:
  %d = phi i64 [0, %drop.test], [%d1, %drop]
  %d1 = add i64 %d, 1
  %held = icmp ult i64 %d, %i
  br i1 %held, label %drop, label %done
drop:
  %old.at = getelementptr ptr, ptr %xs, i64 %d
  %old = load ptr, ptr %old.at
  call void @decref(ptr %old)
  br label %drop.next
done:
  ret ptr %answer
}

; The result of a plan, of which no operation takes time; owned, or null.
define internal ptr @run_plan(ptr %table, ptr %plan, ptr %known) nounwind {
entry:
  %values = alloca [128 x ptr]                ; `MOST_VALUES` of core/calls/plans.py
  %none = call ptr @api_get(i64 16)
  %as.long = call ptr @api_get(i64 10)
  %new.tuple = call ptr @api_get(i64 17)
  %operands.at = getelementptr %Known, ptr %known, i64 0, i32 1
  %operands = load i64, ptr %operands.at
  %constants = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.constants})
  %constants.at = getelementptr i8, ptr %constants, i64 16
  %constants.count = load i64, ptr %constants.at
  %begun = add i64 %operands, %constants.count
  %steps = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.steps})
  %steps.at = getelementptr i8, ptr %steps, i64 16
  %steps.count = load i64, ptr %steps.at
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %put]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i, %begun
  br i1 %more, label %which, label %step.test
which:
  %given = icmp ult i64 %i, %operands
  br i1 %given, label %operand, label %constant
operand:
  %x.at = getelementptr %Known, ptr %known, i64 0, i32 3, i64 %i
  %x = load ptr, ptr %x.at
  br label %put
constant:
  %number = sub i64 %i, %operands
  %c = call ptr @item(ptr %constants, i64 %number)
  br label %put
put:
  %value = phi ptr [%x, %operand], [%c, %constant]
  call void @incref(ptr %value)
  %to = getelementptr ptr, ptr %values, i64 %i
  store ptr %value, ptr %to
  br label %test
step.test:
  %k = phi i64 [0, %test], [%k1, %made]
  %k1 = add i64 %k, 1
  %count = add i64 %begun, %k
  %left = icmp ult i64 %k, %steps.count
  br i1 %left, label %step, label %all
step:
  %pair = call ptr @item(ptr %steps, i64 %k)
  %op = call ptr @item(ptr %pair, i64 0)
  %indices = call ptr @item(ptr %pair, i64 1)
  %direct = call ptr @item(ptr %pair, i64 2)
  %n.at = getelementptr i8, ptr %indices, i64 16
  %n = load i64, ptr %n.at
  %xs = call ptr %new.tuple(i64 %n)
  %no.xs = icmp eq ptr %xs, null
  br i1 %no.xs, label %drop.test, label %fill
fill:
  %j = phi i64 [0, %step], [%j1, %take]
  %j1 = add i64 %j, 1
  %wanted = icmp ult i64 %j, %n
  br i1 %wanted, label %take, label %run
take:
  %index.object = call ptr @item(ptr %indices, i64 %j)
  %index = call i64 %as.long(ptr %index.object)
  %from = getelementptr ptr, ptr %values, i64 %index
  %read = load ptr, ptr %from
  call void @incref(ptr %read)
  %xs.items = getelementptr i8, ptr %xs, i64 {items}
  %xs.at = getelementptr ptr, ptr %xs.items, i64 %j
  store ptr %read, ptr %xs.at
  br label %fill
run:
  %undirected = icmp eq ptr %direct, %none
  br i1 %undirected, label %operation, label %directed
directed:
  %others = call ptr @item(ptr %direct, i64 1)
  %of.several = icmp eq ptr %others, %none
  br i1 %of.several, label %of.many, label %operation
of.many:                                      ; an operation with several results, or one of them
  %apply.it = call ptr @item(ptr %direct, i64 0)
  %picks = icmp eq ptr %apply.it, %none
  br i1 %picks, label %pick, label %apply
pick:
  %parent = call ptr @item(ptr %xs, i64 0)
  %number.of = call ptr @item(ptr %direct, i64 2)
  %which.one = call i64 %as.long(ptr %number.of)
  %picked = call ptr @item(ptr %parent, i64 %which.one)
  call void @incref(ptr %picked)
  br label %ran
apply:
  %operands.given = getelementptr i8, ptr %xs, i64 {items}
  %apply.by = call ptr @api_get(i64 22)
  %applied = call ptr %apply.by(ptr %apply.it, ptr %operands.given, i64 %n, ptr null)
  br label %ran
operation:
  %done.it = call ptr @run_operation(ptr %table, ptr %op, ptr %xs, ptr %direct)
  br label %ran
ran:
  %t = phi ptr [%picked, %pick], [%applied, %apply], [%done.it, %operation]
  call void @decref(ptr %xs)
  %failed = icmp eq ptr %t, null
  br i1 %failed, label %drop.test, label %made
made:
  %t.at = getelementptr ptr, ptr %values, i64 %count
  store ptr %t, ptr %t.at
  br label %step.test
all:
  %ends = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.ends})
  %build = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.build})
  %single = icmp eq ptr %build, %none
  br i1 %single, label %one, label %several
one:
  %end = call ptr @item(ptr %ends, i64 0)
  %end.index = call i64 %as.long(ptr %end)
  %result.at = getelementptr ptr, ptr %values, i64 %end.index
  %whole = load ptr, ptr %result.at
  call void @incref(ptr %whole)
  %true = call ptr @api_get(i64 13)
  %flag = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.element})
  %element = icmp eq ptr %flag, %true
  br i1 %element, label %take.it, label %drop.test
take.it:
  %taken = call ptr @take_element(ptr %table, ptr %whole)
  br label %drop.test
several:
  %ends.at = getelementptr i8, ptr %ends, i64 16
  %ends.count = load i64, ptr %ends.at
  %new.list = call ptr @word_of(ptr %table, i64 {w:PyList_New})
  %listed = call ptr %new.list(i64 %ends.count)
  %no.list = icmp eq ptr %listed, null
  br i1 %no.list, label %drop.test, label %list.test
list.test:
  %m = phi i64 [0, %several], [%m1, %list.put]
  %m1 = add i64 %m, 1
  %list.left = icmp ult i64 %m, %ends.count
  br i1 %list.left, label %list.put, label %listed.all
list.put:
  %this = call ptr @item(ptr %ends, i64 %m)
  %this.index = call i64 %as.long(ptr %this)
  %this.at = getelementptr ptr, ptr %values, i64 %this.index
  %this.value = load ptr, ptr %this.at
  call void @incref(ptr %this.value)
  %listed.items = call ptr @field(ptr %listed, i64 24)
  %list.to = getelementptr ptr, ptr %listed.items, i64 %m
  store ptr %this.value, ptr %list.to
  br label %list.test
listed.all:
  %call = call ptr @api_get(i64 21)
  %built = call ptr %call(ptr %build, ptr %listed)
  call void @decref(ptr %listed)
  br label %drop.test
drop.test:
  %answer = phi ptr [null, %step], [null, %ran], [%whole, %one], [%taken, %take.it], [null, %several], [%built, %listed.all]
  br label %drop.next
drop.next:
  %d = phi i64 [0, %drop.test], [%d1, %drop]
  %d1 = add i64 %d, 1
  %held = icmp ult i64 %d, %count
  br i1 %held, label %drop, label %done
drop:
  %old.at = getelementptr ptr, ptr %values, i64 %d
  %old = load ptr, ptr %old.at
  call void @decref(ptr %old)
  br label %drop.next
done:
  ret ptr %answer
}

define ptr @replayed(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %known = alloca %Known
  %found.at = alloca ptr
  %position = alloca i64
  %named = alloca [2 x ptr]
  %five = alloca [5 x ptr]
  %table = call ptr @field(ptr %self, i64 16)
  %none = call ptr @api_get(i64 16)
  %plans = load ptr, ptr %args
  %given.at = getelementptr ptr, ptr %args, i64 1
  %given = load ptr, ptr %given.at
  %keywords.at = getelementptr ptr, ptr %args, i64 2
  %keywords = load ptr, ptr %keywords.at
  %zero = call ptr @word_of(ptr %table, i64 {w:zero})
  %traces = call ptr @word_of(ptr %table, i64 {w:TRACES})
  %running = call ptr @slot(ptr %table, ptr %traces, i64 {w:Count.running})
  %idle = icmp eq ptr %running, %zero
  %config = call ptr @word_of(ptr %table, i64 {w:config})
  %floats = call ptr @slot(ptr %table, ptr %config, i64 {w:Config._float_dtype})
  %usual = icmp ne ptr %floats, %none
  %may = and i1 %idle, %usual
  br i1 %may, label %mode, label %unknown
mode:
  %variable = call ptr @word_of(ptr %table, i64 {w:MODE})
  %get = call ptr @word_of(ptr %table, i64 {w:PyContextVar_Get})
  %failed = call i32 %get(ptr %variable, ptr null, ptr %found.at)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %error, label %begin
begin:
  %mode.is = load ptr, ptr %found.at
  %symbolic = call ptr @slot(ptr %table, ptr %mode.is, i64 {w:Mode.symbolic})
  %recording = call ptr @slot(ptr %table, ptr %mode.is, i64 {w:Mode.recording})
  %watch = call ptr @slot(ptr %table, ptr %mode.is, i64 {w:Mode.watch})
  %examples = call ptr @slot(ptr %table, ptr %mode.is, i64 {w:Mode.examples})
  %fixed = call ptr @slot(ptr %table, ptr %mode.is, i64 {w:Mode.fixed})
  call void @decref(ptr %mode.is)
  %hooks = call ptr @word_of(ptr %table, i64 {w:HOOKS})
  %recounts = call ptr @attribute(ptr %table, ptr %hooks, i64 {w:.recounts})
  %no.recounts = icmp eq ptr %recounts, null
  br i1 %no.recounts, label %error, label %write
write:
  %as.long = call ptr @api_get(i64 10)
  %recount = call i64 %as.long(ptr %recounts)
  call void @decref(ptr %recounts)
  %operands.at = getelementptr %Known, ptr %known, i64 0, i32 1
  store i64 0, ptr %known
  store i64 0, ptr %operands.at
  %floats.word = ptrtoint ptr %floats to i64
  %symbolic.word = ptrtoint ptr %symbolic to i64 ; there are four values
  call void @note_word(ptr %known, i64 %floats.word)
  call void @note_word(ptr %known, i64 %symbolic.word)
  %recording.word = ptrtoint ptr %recording to i64
  call void @note_word(ptr %known, i64 %recording.word)
  call void @note_word(ptr %known, i64 %recount)
  %size.at = getelementptr i8, ptr %given, i64 16
  %size = load i64, ptr %size.at
  call void @note_word(ptr %known, i64 %size)
  %items = getelementptr i8, ptr %given, i64 {items}
  %noted = call i1 @note_all(ptr %table, ptr %known, ptr %items, i64 %size, i1 false)
  br i1 %noted, label %ask.names, label %slow
ask.names:
  store i64 0, ptr %position
  %value.at = getelementptr ptr, ptr %named, i64 1
  %used.at = getelementptr i8, ptr %keywords, i64 16
  %used = load i64, ptr %used.at
  %plain = icmp eq i64 %used, 0
  br i1 %plain, label %key, label %keyword
keyword:
  %step = call ptr @word_of(ptr %table, i64 {w:PyDict_Next})
  %more = call i32 %step(ptr %keywords, ptr %position, ptr %named, ptr %value.at)
  %last = icmp eq i32 %more, 0
  br i1 %last, label %key, label %note
note:
  %noted.name = call i1 @note_all(ptr %table, ptr %known, ptr %named, i64 2, i1 false)
  br i1 %noted.name, label %keyword, label %slow
key:
  %count = load i64, ptr %known
  %bytes.count = shl i64 %count, 3
  %words = getelementptr %Known, ptr %known, i64 0, i32 2
  %new.bytes = call ptr @word_of(ptr %table, i64 {w:PyBytes_FromStringAndSize})
  %key.is = call ptr %new.bytes(ptr %words, i64 %bytes.count)
  %no.key = icmp eq ptr %key.is, null
  br i1 %no.key, label %error, label %look
look:
  %look.up = call ptr @api_get(i64 27)
  %dict = call ptr @slot(ptr %table, ptr %plans, i64 {w:Plans.found})
  %plan = call ptr %look.up(ptr %dict, ptr %key.is)
  %operands = load i64, ptr %operands.at
  %new = icmp eq ptr %plan, null
  br i1 %new, label %by.python, label %kind
kind:
  %without = icmp eq ptr %plan, %none
  br i1 %without, label %forgo, label %known.kind
forgo:                                        ; there is no plan, as `by_plan` says
  call void @decref(ptr %key.is)
  br label %unknown
known.kind:
  %type = call ptr @field(ptr %plan, i64 8)
  %plan.type = call ptr @word_of(ptr %table, i64 {w:Plan})
  %is.plan = icmp eq ptr %type, %plan.type
  br i1 %is.plan, label %whole, label %try.region
try.region:                                   ; as in `Regions.__call__`
  %region.type = call ptr @word_of(ptr %table, i64 {w:RegionPlan})
  %is.region = icmp eq ptr %type, %region.type
  br i1 %is.region, label %region, label %by.python
region:
  %truth = call ptr @api_get(i64 13)
  %falsehood = call ptr @api_get(i64 14)
  %direct = call ptr @slot(ptr %table, ptr %plan, i64 {w:RegionPlan.direct})
  %ready = icmp ne ptr %direct, %none
  %compiles = call ptr @slot(ptr %table, ptr %config, i64 {w:Config._compiles})
  %compiling = icmp eq ptr %compiles, %truth
  %unwatched = icmp eq ptr %watch, %none
  %single = icmp eq ptr %examples, %none
  %changing = icmp eq ptr %fixed, %falsehood
  %and1 = and i1 %ready, %compiling
  %and2 = and i1 %unwatched, %single
  %and12 = and i1 %and1, %and2
  %runs = and i1 %and12, %changing
  br i1 %runs, label %run.region, label %by.python
run.region:
  call void @decref(ptr %key.is)
  call void @incref(ptr %plan)
  %y = call ptr @run_region(ptr %table, ptr %plan, ptr %direct, ptr %known)
  call void @decref(ptr %plan)
  %unrun.region = icmp eq ptr %y, null
  br i1 %unrun.region, label %failure, label %done
whole:
  %true = call ptr @api_get(i64 13)
  %flag = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.quick})
  %quick = icmp eq ptr %flag, %true
  br i1 %quick, label %count.down, label %by.python
count.down:
  %left.array = call ptr @slot(ptr %table, ptr %plan, i64 {w:Plan.calls_left})
  %never = icmp eq ptr %left.array, %none
  br i1 %never, label %run, label %count.one
count.one:
  %left.at = call ptr @field(ptr %left.array, i64 16)
  %left.before = load i64, ptr %left.at
  %left.now = sub i64 %left.before, 1
  store i64 %left.now, ptr %left.at
  %spent = icmp sle i64 %left.now, 0
  br i1 %spent, label %by.python, label %run
run:
  call void @incref(ptr %plan)
  call void @decref(ptr %key.is)
  %t = call ptr @run_plan(ptr %table, ptr %plan, ptr %known)
  call void @decref(ptr %plan)
  %unrun = icmp eq ptr %t, null
  br i1 %unrun, label %failure, label %done
done:
  %result = phi ptr [%t, %run], [%y, %run.region]
  ret ptr %result
failure:                                      ; of an error, the function tells in the user's words
  %matches = call ptr @word_of(ptr %table, i64 {w:PyErr_ExceptionMatches})
  %ordinary = call ptr @word_of(ptr %table, i64 {w:Exception})
  %is.ordinary = call i32 %matches(ptr %ordinary)
  %told = icmp ne i32 %is.ordinary, 0
  br i1 %told, label %forget, label %error
forget:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  br label %unknown
by.python:
  %new.list = call ptr @word_of(ptr %table, i64 {w:PyList_New})
  %listed = call ptr %new.list(i64 %operands)
  %no.list = icmp eq ptr %listed, null
  br i1 %no.list, label %drop.key, label %list.fill
list.fill:
  %j = phi i64 [0, %by.python], [%j1, %list.put]
  %j1 = add i64 %j, 1
  %list.left = icmp ult i64 %j, %operands
  br i1 %list.left, label %list.put, label %hand.over
list.put:
  %list.from = getelementptr %Known, ptr %known, i64 0, i32 3, i64 %j
  %operand = load ptr, ptr %list.from
  call void @incref(ptr %operand)
  %listed.items = call ptr @field(ptr %listed, i64 24)
  %list.to = getelementptr ptr, ptr %listed.items, i64 %j
  store ptr %operand, ptr %list.to
  br label %list.fill
hand.over:
  store ptr %plans, ptr %five
  %five1 = getelementptr ptr, ptr %five, i64 1
  store ptr %key.is, ptr %five1
  %five2 = getelementptr ptr, ptr %five, i64 2
  store ptr %listed, ptr %five2
  %five3 = getelementptr ptr, ptr %five, i64 3
  store ptr %given, ptr %five3
  %five4 = getelementptr ptr, ptr %five, i64 4
  store ptr %keywords, ptr %five4
  %call = call ptr @api_get(i64 22)
  %by.plan = call ptr @word_of(ptr %table, i64 {w:by_plan})
  %answer = call ptr %call(ptr %by.plan, ptr %five, i64 5, ptr null)
  call void @decref(ptr %listed)
  call void @decref(ptr %key.is)
  ret ptr %answer
drop.key:
  call void @decref(ptr %key.is)
  br label %error
slow:
  %slow.call = call ptr @api_get(i64 22)
  %handler = call ptr @word_of(ptr %table, i64 {w:replayed})
  %slow.answer = call ptr %slow.call(ptr %handler, ptr %args, i64 %nargs, ptr null)
  ret ptr %slow.answer
unknown:
  %nothing = call ptr @word_of(ptr %table, i64 {w:NotImplemented})
  call void @incref(ptr %nothing)
  ret ptr %nothing
error:
  ret ptr null
}

; The elements of an array.
define internal i64 @elements_of(ptr %array) nounwind {
entry:
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd32 = load i32, ptr %nd.at
  %nd = zext i32 %nd32 to i64
  %dims = call ptr @field(ptr %array, i64 32)
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %axis]
  %size = phi i64 [1, %entry], [%size1, %axis]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %axis, label %done
axis:
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %dim = load i64, ptr %dim.at
  %size1 = mul i64 %size, %dim
  %i1 = add i64 %i, 1
  br label %test
done:
  ret i64 %size
}

; The shared tensor of a Python number beside a tensor, as `constant` of ops/base/convert.py knows it;
; borrowed from its dict, or null, perhaps with an error set.
define internal ptr @constant_beside(ptr %table, ptr %number, ptr %x) nounwind {
entry:
  %ndarray = call ptr @api_get(i64 2)
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  %array.type = call ptr @field(ptr %array, i64 8)
  %valued = icmp eq ptr %array.type, %ndarray
  br i1 %valued, label %look, label %no
look:
  %descr = call ptr @field(ptr %array, i64 56)
  %kind.at = getelementptr i8, ptr %descr, i64 24
  %kind = load i8, ptr %kind.at
  %type = call ptr @field(ptr %number, i64 8)
  %int = call ptr @api_get(i64 8)
  %float = call ptr @api_get(i64 7)
  %is.int = icmp eq ptr %type, %int
  br i1 %is.int, label %whole, label %try.float
whole:
  switch i8 %kind, label %no [ i8 102, label %key
                               i8 99, label %key
                               i8 105, label %key
                               i8 117, label %key ]
try.float:
  %is.float = icmp eq ptr %type, %float
  br i1 %is.float, label %fraction, label %no
fraction:
  %value.at = getelementptr i8, ptr %number, i64 16
  %value = load double, ptr %value.at
  %zero = fcmp oeq double %value, 0.0         ; of which there are two
  br i1 %zero, label %no, label %floats
floats:
  switch i8 %kind, label %no [ i8 102, label %key
                               i8 99, label %key ]
key:
  %new.tuple = call ptr @api_get(i64 17)
  %pair = call ptr %new.tuple(i64 2)
  %bad = icmp eq ptr %pair, null
  br i1 %bad, label %no, label %fill
fill:
  %items = getelementptr i8, ptr %pair, i64 {items}
  %second = getelementptr ptr, ptr %items, i64 1
  call void @incref(ptr %descr)
  store ptr %descr, ptr %items
  call void @incref(ptr %number)
  store ptr %number, ptr %second
  %look.up = call ptr @api_get(i64 27)
  %dict = call ptr @word_of(ptr %table, i64 {w:CONSTANTS})
  %found = call ptr %look.up(ptr %dict, ptr %pair)
  call void @decref(ptr %pair)
  ret ptr %found
no:
  ret ptr null
}

; The array of an operand if a row can be called with it as it is, else null; %known is the row.
define internal ptr @row_operand(ptr %table, ptr %x, i64 %bits, i64 %limit) nounwind {
entry:
  %ndarray = call ptr @api_get(i64 2)
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  %type = call ptr @field(ptr %array, i64 8)
  %valued = icmp eq ptr %type, %ndarray
  br i1 %valued, label %look, label %no
look:
  %descr = call ptr @field(ptr %array, i64 56)
  %number = call i64 @number_of_dtype(ptr %descr)
  %odd = icmp slt i64 %number, 0
  br i1 %odd, label %no, label %count
count:
  %shifted = lshr i64 %bits, %number
  %bit = and i64 %shifted, 1
  %taken = icmp ne i64 %bit, 0
  %size = call i64 @elements_of(ptr %array)
  %small = icmp ult i64 %size, %limit
  %fits = and i1 %taken, %small
  br i1 %fits, label %yes, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

; Size number %k of an array, counted from the last one; 1 in front of the first one.
define internal i64 @size_from_last(ptr %array, i64 %k) nounwind {
entry:
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd = load i32, ptr %nd.at
  %rank = sext i32 %nd to i64
  %there = icmp slt i64 %k, %rank
  br i1 %there, label %read, label %none
read:
  %sizes = call ptr @field(ptr %array, i64 32)
  %back = sub i64 %rank, %k
  %axis = sub i64 %back, 1
  %at = getelementptr i64, ptr %sizes, i64 %axis
  %size = load i64, ptr %at
  ret i64 %size
none:
  ret i64 1
}

; Whether two arrays, each with fewer than %limit elements, spread over far more together.
define internal i1 @spread(ptr %a, ptr %b, i64 %limit) nounwind {
entry:
  %m = call i64 @elements_of(ptr %a)
  %n = call i64 @elements_of(ptr %b)
  %pairs = mul i64 %m, %n
  %most = mul i64 %limit, 8
  %many = icmp ugt i64 %pairs, %most
  br i1 %many, label %rank, label %no
rank:
  %a.rank.at = getelementptr i8, ptr %a, i64 24
  %b.rank.at = getelementptr i8, ptr %b, i64 24
  %a.rank = load i32, ptr %a.rank.at
  %b.rank = load i32, ptr %b.rank.at
  %deeper = icmp sgt i32 %a.rank, %b.rank
  %rank.32 = select i1 %deeper, i32 %a.rank, i32 %b.rank
  %rank.of.both = sext i32 %rank.32 to i64
  br label %count
count:
  %k = phi i64 [0, %rank], [%k1, %next]
  %total = phi i64 [1, %rank], [%total1, %next]
  %end = icmp eq i64 %k, %rank.of.both
  br i1 %end, label %told, label %next
next:
  %p = call i64 @size_from_last(ptr %a, i64 %k)
  %q = call i64 @size_from_last(ptr %b, i64 %k)
  %wider = icmp ugt i64 %p, %q
  %size = select i1 %wider, i64 %p, i64 %q
  %total1 = mul i64 %total, %size
  %k1 = add i64 %k, 1
  br label %count
told:
  %large = icmp ugt i64 %total, %most
  ret i1 %large
no:
  ret i1 false
}

; Whether a tensor has a value of one of NumPy's usual dtypes.
define internal i1 @has_usual_value(ptr %table, ptr %x) nounwind {
entry:
  %ndarray = call ptr @api_get(i64 2)
  %array = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor.array})
  %type = call ptr @field(ptr %array, i64 8)
  %valued = icmp eq ptr %type, %ndarray
  br i1 %valued, label %look, label %no
look:
  %descr = call ptr @field(ptr %array, i64 56)
  %number = call i64 @number_of_dtype(ptr %descr)
  %usual = icmp sge i64 %number, 0
  ret i1 %usual
no:
  ret i1 false
}

define ptr @mapped(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %operands = alloca [2 x ptr]
  %arrays = alloca [2 x ptr]
  %table = call ptr @field(ptr %self, i64 16)
  %tensor = call ptr @word_of(ptr %table, i64 {w:Tensor})
  %zero = call ptr @word_of(ptr %table, i64 {w:zero})
  %traces = call ptr @word_of(ptr %table, i64 {w:TRACES})
  %running = call ptr @slot(ptr %table, ptr %traces, i64 {w:Count.running})
  %idle = icmp eq ptr %running, %zero
  %row = load ptr, ptr %args
  %op = call ptr @item(ptr %row, i64 0)
  %function = call ptr @item(ptr %row, i64 1)
  %bits.object = call ptr @item(ptr %row, i64 2)
  %limit.object = call ptr @item(ptr %row, i64 3)
  %in.pool = call ptr @item(ptr %row, i64 4)  ; the function for large arrays
  %as.long = call ptr @api_get(i64 10)
  %bits = call i64 %as.long(ptr %bits.object)
  %limit = call i64 %as.long(ptr %limit.object)
  %operands1 = getelementptr ptr, ptr %operands, i64 1
  %arrays1 = getelementptr ptr, ptr %arrays, i64 1
  %n = sub i64 %nargs, 1
  br i1 %idle, label %count, label %slow
count:
  %first.at = getelementptr ptr, ptr %args, i64 1
  %first = load ptr, ptr %first.at
  %first.type = call ptr @field(ptr %first, i64 8)
  %first.is = icmp eq ptr %first.type, %tensor
  switch i64 %n, label %slow [ i64 1, label %one
                               i64 2, label %two ]
one:
  store ptr %first, ptr %operands
  br i1 %first.is, label %only, label %slow
only:
  %array = call ptr @row_operand(ptr %table, ptr %first, i64 %bits, i64 -1)
  store ptr %array, ptr %arrays
  %unfit = icmp eq ptr %array, null
  br i1 %unfit, label %refuse.one, label %extent.one
refuse.one:
  %known.one = call i1 @has_usual_value(ptr %table, ptr %first)
  br i1 %known.one, label %refuse, label %slow
extent.one:
  %size = call i64 @elements_of(ptr %array)
  %large.one = icmp uge i64 %size, %limit
  br label %begin
two:
  %second.at = getelementptr ptr, ptr %args, i64 2
  %second = load ptr, ptr %second.at
  %second.type = call ptr @field(ptr %second, i64 8)
  %second.is = icmp eq ptr %second.type, %tensor
  br i1 %first.is, label %left, label %right
left:
  br i1 %second.is, label %pair, label %number.right
number.right:
  %constant.right = call ptr @constant_beside(ptr %table, ptr %second, ptr %first)
  br label %pair
right:
  br i1 %second.is, label %number.left, label %slow
number.left:
  %constant.left = call ptr @constant_beside(ptr %table, ptr %first, ptr %second)
  br label %pair
pair:
  %a = phi ptr [%first, %left], [%first, %number.right], [%constant.left, %number.left]
  %b = phi ptr [%second, %left], [%constant.right, %number.right], [%second, %number.left]
  %no.a = icmp eq ptr %a, null
  %no.b = icmp eq ptr %b, null
  %no.number = or i1 %no.a, %no.b
  br i1 %no.number, label %unknown, label %both
both:
  store ptr %a, ptr %operands
  store ptr %b, ptr %operands1
  %a.array = call ptr @row_operand(ptr %table, ptr %a, i64 %bits, i64 -1)
  %b.array = call ptr @row_operand(ptr %table, ptr %b, i64 %bits, i64 -1)
  store ptr %a.array, ptr %arrays
  store ptr %b.array, ptr %arrays1
  %a.unfit = icmp eq ptr %a.array, null
  %b.unfit = icmp eq ptr %b.array, null
  %pair.unfit = or i1 %a.unfit, %b.unfit
  br i1 %pair.unfit, label %refuse.pair, label %types
refuse.pair:
  %known.a = call i1 @has_usual_value(ptr %table, ptr %a)
  %known.b = call i1 @has_usual_value(ptr %table, ptr %b)
  %known.pair = and i1 %known.a, %known.b
  br i1 %known.pair, label %refuse, label %slow
refuse:                                       ; dtypes that are converted first
  %nothing = call ptr @word_of(ptr %table, i64 {w:NotImplemented})
  call void @incref(ptr %nothing)
  ret ptr %nothing
types:
  %a.descr = call ptr @field(ptr %a.array, i64 56)
  %b.descr = call ptr @field(ptr %b.array, i64 56)
  %alike = icmp eq ptr %a.descr, %b.descr
  br i1 %alike, label %extent, label %refuse.pair
extent:
  %a.size = call i64 @elements_of(ptr %a.array)
  %b.size = call i64 @elements_of(ptr %b.array)
  %a.large = icmp uge i64 %a.size, %limit
  %b.large = icmp uge i64 %b.size, %limit
  %spread = call i1 @spread(ptr %a.array, ptr %b.array, i64 %limit)
  %either = or i1 %a.large, %b.large
  %large.pair = or i1 %either, %spread
  br label %begin
begin:
  %large = phi i1 [%large.one, %extent.one], [%large.pair, %extent]
  %compute = select i1 %large, ptr %in.pool, ptr %function
  %new.tuple = call ptr @api_get(i64 17)
  %xs = call ptr %new.tuple(i64 %n)
  %no.xs = icmp eq ptr %xs, null
  br i1 %no.xs, label %error, label %hold.test
hold.test:
  %i = phi i64 [0, %begin], [%i1, %hold]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %hold, label %enter
hold:
  %from = getelementptr ptr, ptr %operands, i64 %i
  %x = load ptr, ptr %from
  call void @incref(ptr %x)
  %items = getelementptr i8, ptr %xs, i64 {items}
  %to = getelementptr ptr, ptr %items, i64 %i
  store ptr %x, ptr %to
  %held.at = getelementptr ptr, ptr %arrays, i64 %i
  %held = load ptr, ptr %held.at
  call void @incref(ptr %held)
  %i1 = add i64 %i, 1
  br label %hold.test
enter:
  %context = call ptr @word_of(ptr %table, i64 {w:silent})
  %enter.it = call ptr @word_of(ptr %table, i64 {w:PyContext_Enter})
  %refused = call i32 %enter.it(ptr %context)
  %busy = icmp ne i32 %refused, 0
  br i1 %busy, label %drop, label %run
run:
  %call = call ptr @api_get(i64 22)
  %data = call ptr %call(ptr %compute, ptr %arrays, i64 %n, ptr null)
  %leave.it = call ptr @word_of(ptr %table, i64 {w:PyContext_Exit})
  %left.it = call i32 %leave.it(ptr %context)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %drop, label %typed
typed:
  %ndarray = call ptr @api_get(i64 2)
  %data.type = call ptr @field(ptr %data, i64 8)
  %is.array = icmp eq ptr %data.type, %ndarray
  br i1 %is.array, label %finish, label %scalar
scalar:
  %as.array = call ptr @word_of(ptr %table, i64 {w:PyArray_FromAny})
  %wrapped = call ptr %as.array(ptr %data, ptr null, i32 0, i32 0, i32 0, ptr null)
  call void @decref(ptr %data)
  %unwrapped = icmp eq ptr %wrapped, null
  br i1 %unwrapped, label %drop, label %finish
finish:
  %result = phi ptr [%data, %typed], [%wrapped, %scalar]
  %t = call ptr @finish(ptr %table, ptr %result, ptr %op, ptr %xs)
  call void @decref(ptr %result)
  br label %drop
drop:
  %answer = phi ptr [null, %enter], [null, %run], [null, %scalar], [%t, %finish]
  %tells = phi i1 [true, %enter], [true, %run], [true, %scalar], [false, %finish]
  call void @decref(ptr %xs)
  br label %drop.test
drop.test:
  %j = phi i64 [0, %drop], [%j1, %drop.one]
  %left.over = icmp ult i64 %j, %n
  br i1 %left.over, label %drop.one, label %dropped
drop.one:
  %gone.at = getelementptr ptr, ptr %arrays, i64 %j
  %gone = load ptr, ptr %gone.at
  call void @decref(ptr %gone)
  %j1 = add i64 %j, 1
  br label %drop.test
dropped:
  br i1 %tells, label %failure, label %done
done:
  ret ptr %answer
unknown:                                      ; perhaps an error of the number's hash
  %occurred = call ptr @api_get(i64 11)
  %set = call ptr %occurred()
  %fine = icmp eq ptr %set, null
  br i1 %fine, label %slow, label %error
failure:                                      ; Python tells what there is to tell
  %matches = call ptr @word_of(ptr %table, i64 {w:PyErr_ExceptionMatches})
  %ordinary = call ptr @word_of(ptr %table, i64 {w:Exception})
  %is.ordinary = call i32 %matches(ptr %ordinary)
  %told = icmp ne i32 %is.ordinary, 0
  br i1 %told, label %forget, label %error
forget:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  br label %slow
slow:
  %slow.call = call ptr @api_get(i64 22)
  %handler = call ptr @word_of(ptr %table, i64 {w:mapped})
  %slow.answer = call ptr %slow.call(ptr %handler, ptr %args, i64 %nargs, ptr null)
  ret ptr %slow.answer
error:
  ret ptr null
}
